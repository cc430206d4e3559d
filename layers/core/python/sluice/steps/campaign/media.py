"""The media of a template's header, uploaded for each number before a row may leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.carried import Again, Refused
from sluice.domain.clock import Clock
from sluice.domain.graph import Declined, Unavailable, Uploaded
from sluice.domain.media import UPLOAD_YOUNG, MediaFile, MediaRef
from sluice.domain.problems import Problem

RETRY_SECONDS = 15


class Files(Protocol):
    """Files in S3."""

    def describe(self, uri: str) -> MediaFile | None:
        """Return the file as it is now; None: there is none, or not for us."""

    def open(self, file: MediaFile) -> Any | None:
        """Return its content, to be read once; None if it changed."""


class Uploads(Protocol):
    """Ids of uploads, by number."""

    def missing(
        self, numbers: Sequence[str], uri: str, etag: str, *, since: datetime
    ) -> Sequence[str]:
        """Return the numbers without an upload since then."""

    def store(
        self, phone_number_id: str, uri: str, etag: str, *, media_id: str, uploaded_at: datetime
    ) -> None:
        """Keep an id."""


class GraphApi(Protocol):
    """Where media are uploaded to."""

    def upload(
        self, phone_number_id: str, content: Any, *, size_bytes: int, media_type: str
    ) -> Uploaded | Unavailable | Declined:
        """Upload a file for one number."""


@dataclass(frozen=True, slots=True)
class HeaderMedia:
    """Uploads what is missing or old, and leaves the rest: done twice it is done once.

    Whoever dies between an upload and its record uploads again; nobody misses the first.
    """

    files: Files
    uploads: Uploads
    graph_api: GraphApi
    clock: Clock

    def describe(self, refs: Sequence[MediaRef]) -> tuple[list[MediaFile], list[Problem]]:
        """Return the files that are there, and everything that is wrong with any."""
        files: list[MediaFile] = []
        problems: list[Problem] = []
        for ref in refs:
            file = self.files.describe(ref.uri)
            if file is None:
                what = f"there is no such file, or it may not be read: {ref.uri}"
                problems.append(Problem("template.header", what))
            else:
                files.append(file)
                problems += ref.flaws(file)
        return files, problems

    def are_young(
        self, refs: Sequence[MediaRef], numbers: Sequence[str], etags: Mapping[str, str]
    ) -> bool:
        """Whether each number has an upload of each file, as it was, that need not be renewed."""
        since = self.clock.now() - UPLOAD_YOUNG
        return not any(
            self.uploads.missing(numbers, ref.uri, etags.get(ref.uri, ""), since=since)
            for ref in refs
        )

    def upload(
        self,
        refs: Sequence[MediaRef],
        files: Sequence[MediaFile],
        numbers: Sequence[str],
        *,
        stop_at: float,
    ) -> Again | Refused | Unavailable | None:
        """Upload every file for every number that has no young upload of it; None: all is there."""
        since = self.clock.now() - UPLOAD_YOUNG
        for ref, file in zip(refs, files, strict=True):
            for number in self.uploads.missing(numbers, file.uri, file.etag, since=since):
                if self.clock.monotonic() > stop_at:
                    return Again(1, "media are being uploaded")
                failure = self._upload(ref, file, number)
                if failure is not None:
                    return failure
        return None

    def _upload(
        self, ref: MediaRef, file: MediaFile, number: str
    ) -> Again | Refused | Unavailable | None:
        began_at = self.clock.now()
        content = self.files.open(file)
        if content is None:
            return Again(RETRY_SECONDS, "a file of the header changed while it was opened")
        media_type = ref.type_of(file)
        size_bytes = file.size_bytes
        answer = self.graph_api.upload(
            number, content, size_bytes=size_bytes, media_type=media_type
        )
        match answer:
            case Uploaded(media_id=media_id):
                self.uploads.store(
                    number, file.uri, file.etag, media_id=media_id, uploaded_at=began_at
                )
                return None
            case Declined(reason=reason):
                return Refused([f"template.header: Meta does not take {ref.uri}: {reason}"])
            case Unavailable():
                return answer
