"""Export: the recipients of a campaign to files, part by part, and a manifest at the end."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol, assert_never

from sluice.domain.audit import Origin
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.exports import (
    MANIFEST,
    PLACES,
    REJECTED,
    Column,
    Format,
    Part,
    StoredExport,
    StoredFile,
    Table,
    manifest_of,
    parts_of,
    recipients,
)
from sluice.domain.limits import EXPORT_PART_SECONDS_MAX
from sluice.domain.requests import ExportRequest, request_hash

PATIENCE_RECEIVES = 5
RETRY_SECONDS = 15
"""An export may overtake the campaign that it is about: it waits for it about a minute."""

Written = Literal["written", "there", "denied"]
"""``there``: somebody was first, and theirs is kept."""


class Exports(Protocol):
    """What the database has of campaigns and of their exports."""

    def find(self, campaign: str, export_id: str) -> StoredExport | None:
        """Return an export that has begun."""

    def begin(
        self,
        campaign: str,
        export_id: str,
        *,
        request_hash: str,
        place: str,
        origin: Origin,
        now: datetime,
    ) -> StoredExport | Literal["absent", "taken"]:
        """Begin it: there is no such campaign, or another export has the place, or it is begun."""

    def copy(self, campaign_id: int, part: Part, target: Path) -> int | None:
        """Write a part as CSV and return its rows; None: it is too large."""


class Storage(Protocol):
    """Files at a place in S3, each written once."""

    def keys(self, place: str, *, within: Sequence[str]) -> set[str] | None:
        """Return what is there; None: no such bucket, or not for us."""

    def put(self, place: str, key: str, source: Path, *, rows: int) -> Written:
        """Write a file."""

    def put_text(self, place: str, key: str, text: str) -> Written:
        """Write a text."""

    def fetch(self, place: str, key: str, target: Path) -> int:
        """Read a file back, and return its rows."""

    def describe(self, place: str, key: str) -> StoredFile:
        """Return what is known of a file that is there."""


class Parquet(Protocol):
    """The other format."""

    def write(self, source: Path, target: Path, columns: Sequence[Column], *, rows: int) -> None:
        """Make a Parquet file of a CSV file of ours."""


def export(
    request: ExportRequest,
    *,
    receives: int,
    origin: Origin,
    bucket: str,
    exports: Exports,
    storage: Storage,
    parquet: Parquet,
    workplace: Callable[[], AbstractContextManager[Path]],
    clock: Clock,
    deadline: float,
) -> Carried:
    """Write the parts that are not there, and the manifest when all of them are.

    Published twice it is one; the same id with another content is refused. It waits about a minute
    for a campaign that it overtook. ``deadline`` is on ``clock.monotonic()``.
    """
    place = request.place(bucket)
    there = storage.keys(place, within=PLACES)
    if there is None:
        return Refused([f"to: {place} does not exist or may not be read"])
    stored = _begun(request, place, origin, empty=not there, exports=exports, now=clock.now())
    if isinstance(stored, Refused):
        return stored
    if stored is None:
        reason = f"there is no campaign {request.campaign}"
        return Again(RETRY_SECONDS, reason) if receives < PATIENCE_RECEIVES else Refused([reason])
    if MANIFEST in there:
        return Done({"campaign_id": stored.campaign_id, "place": place, "again": True})
    run = _Run(request, stored, place, there, exports, storage, parquet, clock)
    with workplace() as folder:
        return run.write_parts(folder, deadline - EXPORT_PART_SECONDS_MAX) or run.write_manifest()


def _begun(
    request: ExportRequest,
    place: str,
    origin: Origin,
    *,
    empty: bool,
    exports: Exports,
    now: datetime,
) -> StoredExport | Refused | None:
    name, content = request.id or "", request_hash(request)
    stored = exports.find(request.campaign, name)
    if stored is None and not empty:
        return Refused([f"to: {place} holds files of another export"])
    begun = stored or exports.begin(
        request.campaign, name, request_hash=content, place=place, origin=origin, now=now
    )
    match begun:
        case StoredExport():
            same = begun.request_hash == content
            return begun if same else Refused(["this export exists with another content"])
        case "taken":
            return Refused([f"to: {place} belongs to another export"])
        case "absent":
            return None
        case _:
            assert_never(begun)


@dataclass(frozen=True, slots=True)
class _Run:
    request: ExportRequest
    stored: StoredExport
    place: str
    there: set[str]
    exports: Exports
    storage: Storage
    parquet: Parquet
    clock: Clock

    def write_parts(self, folder: Path, stop_at: float) -> Again | Refused | None:
        """Write what is missing; None: nothing is any more."""
        parts = self._parts()
        for done, part in enumerate(parts):
            if {part.key(form) for form in self.request.formats} <= self.there:
                continue
            if self.clock.monotonic() > stop_at:
                return Again(1, f"{done} of {len(parts)} parts are written")
            refused = self._write(part, folder / "part.csv", folder / "part.parquet")
            if refused is not None:
                return refused
        return None

    def write_manifest(self) -> Done | Refused:
        """Write what is there."""
        parts = self._parts()
        manifest = manifest_of(
            campaign=self.request.campaign,
            export_id=self.request.id,
            stored=self.stored,
            tables=self._tables(),
            files=[(part, self._files(part)) for part in parts],
            written_at=self.clock.now(),
        )
        text = json.dumps(manifest, indent=2) + "\n"
        if self.storage.put_text(self.place, MANIFEST, text) == "denied":
            return self._denied()
        rows = {table["table"]: table["rows"] for table in manifest["tables"]}
        facts = {"campaign_id": self.stored.campaign_id, "place": self.place, "parts": len(parts)}
        return Done({**facts, **rows})

    def _tables(self) -> tuple[Table, ...]:
        people = recipients(self.request.columns, parameters=self.request.parameters)
        return people, REJECTED

    def _parts(self) -> list[Part]:
        rows = self.request.rows_per_part
        return list(parts_of(self._tables(), last=self.stored.last_seq, rows=rows))

    def _files(self, part: Part) -> dict[Format, StoredFile]:
        keys = {form: part.key(form) for form in self.request.formats}
        return {form: self.storage.describe(self.place, key) for form, key in keys.items()}

    def _write(self, part: Part, csv: Path, parquet: Path) -> Refused | None:
        """Write a part's files. The Parquet is made of the CSV that is kept, so the two agree."""
        rows = self._csv(part, csv)
        if isinstance(rows, Refused):
            return rows
        key = part.key("parquet")
        if "parquet" not in self.request.formats or key in self.there:
            return None
        self.parquet.write(csv, parquet, part.table.columns, rows=rows)
        written = self.storage.put(self.place, key, parquet, rows=rows)
        return self._denied() if written == "denied" else None

    def _csv(self, part: Part, csv: Path) -> int | Refused:
        key = part.key("csv")
        if key in self.there:
            return self.storage.fetch(self.place, key, csv)
        rows = self.exports.copy(self.stored.campaign_id, part, csv)
        if rows is None:
            reason = f"positions {part.first} to {part.last} are too large for one part"
            return Refused([f"rows_per_part: {reason}, ask for fewer"])
        if "csv" not in self.request.formats:
            return rows
        match self.storage.put(self.place, key, csv, rows=rows):
            case "written":
                return rows
            case "there":
                return self.storage.fetch(self.place, key, csv)
            case "denied":
                return self._denied()

    def _denied(self) -> Refused:
        return Refused([f"to: {self.place} may not be written"])
