"""What `aftermath` promises: figures that agree, one more try for who may get it, and oblivion."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.judge.checks import Check, counted, equal, everybody, nobody

Exported = Mapping[str, Any]
"""A row of an export, by column; null and empty are None."""


@dataclass(frozen=True)
class Truth:
    """What the ledger has of one recipient: of the last message that Meta accepted, if any."""

    address: str
    phone_number_id: str | None
    wamid: str | None
    status: str | None
    """The highest that Meta told of that message; None: none."""


@dataclass(frozen=True)
class Aftermath:
    """What was seen after a campaign."""

    retryable: Collection[str]
    """People whose failure may pass, as the simulation chose them."""
    previewed: int
    previewed_codes: Mapping[int, int]
    """Deliveries by code, as the preview told them."""
    failed_codes: Mapping[int, int]
    """The same, as the simulation chose them."""
    sent_again: Sequence[str]
    """People who were sent to after the order."""
    sent_after_the_order_came_again: int
    csv: Mapping[str, Exported]
    parquet: Mapping[str, Exported]
    """Both by ``seq``."""
    truth: Mapping[str, Truth]
    """Of every recipient whom a message was sent to, by ``seq``."""
    manifest_rows: int
    errors: Mapping[int, int]
    """Deliveries that ended with a code, as the report's details have them."""
    ended: Mapping[int, int]
    """The same, from the ledger."""
    delivered: int
    """As the report bills and counts them."""
    delivered_truth: int
    redriven: int
    """Messages that reached Meta of the letter that had died."""
    scheduled_at_aws: bool
    started: int
    """Campaigns that the schedule started, though it was told twice."""
    person_before: int
    person_after: Mapping[str, int]
    """Rows that name the erased person, by table."""
    rows_after: Mapping[str, int]
    """Rows of the deleted campaign, by table."""
    counters_before: Mapping[str, int]
    counters_after: Mapping[str, int]
    sent_after_deletion: int
    """Messages after the deleted campaign was published again."""


def aftermath_checks(seen: Aftermath) -> tuple[Check, ...]:
    """Hold what was seen to what is promised."""
    return (
        equal("the preview counts whom an order sends to", seen.previewed, len(seen.retryable)),
        counted("the preview tells their codes", _named(seen.previewed_codes),
                _named(seen.failed_codes)),
        everybody("the order sends to exactly those again", seen.sent_again, seen.retryable),
        equal("the same order again sends to nobody", seen.sent_after_the_order_came_again, 0),
        _formats_agree(seen),
        equal("the export has everybody", seen.manifest_rows, len(seen.csv)),
        _export_is_true(seen),
        counted("the report's errors are the ledger's", _named(seen.errors), _named(seen.ended)),
        equal("the report's delivered are the ledger's", seen.delivered, seen.delivered_truth),
        equal("a dead letter is redriven, and sent once", seen.redriven, 1),
        Check("the schedule is kept at AWS", seen.scheduled_at_aws, str(seen.scheduled_at_aws)),
        equal("a start that is told twice is one campaign", seen.started, 1),
        _forgotten(seen),
        counted("of the deleted campaign no row is left", seen.rows_after, {}),
        counted("its counters stay", seen.counters_after, seen.counters_before),
        equal("published again it sends nothing", seen.sent_after_deletion, 0),
    )  # fmt: skip


def _formats_agree(seen: Aftermath) -> Check:
    wrong = [seq for seq, row in seen.csv.items() if seen.parquet.get(seq) != row]
    check = nobody("CSV and Parquet agree, row by row", wrong, of=len(seen.csv))
    same = len(seen.csv) == len(seen.parquet)
    return Check(check.name, check.holds and same, f"{check.found} differ")


def _export_is_true(seen: Aftermath) -> Check:
    wrong = [seq for seq, truth in seen.truth.items() if not _is_true(seen.csv.get(seq), truth)]
    check = nobody("the export is the ledger, row by row", wrong, of=len(seen.truth))
    return Check(check.name, check.holds, f"{check.found} differ")


def _is_true(row: Exported | None, truth: Truth) -> bool:
    if row is None or row["address"] != truth.address:
        return False
    if truth.wamid is None:
        return row["wamid"] is None
    told = truth.status is None or row["status"] == truth.status
    return told and (row["wamid"], row["phone_number_id"]) == (truth.wamid, truth.phone_number_id)


def _forgotten(seen: Aftermath) -> Check:
    left = {table: rows for table, rows in seen.person_after.items() if rows}
    name = "an erased person is in no table"
    return Check(
        name,
        not left and seen.person_before > 0,
        f"{left or 'nothing'} of {seen.person_before} rows",
    )


def _named(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(code): count for code, count in counts.items()}
