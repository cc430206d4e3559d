"""The journal of the senders, in their logs: written by them, read after a restore."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from typing import Any

from aws_lambda_powertools import Logger

from sluice.domain.claim import Claim, Key, Result, SendPolicy
from sluice.domain.journal import MARK, Noted, became, claimed, noted_in
from sluice.domain.sending import Claims

_EPOCH = datetime.fromtimestamp(0, UTC)


class JournaledClaims:
    """Claims whose every change is noted in the sender's log as well.

    Lambda takes a line from the function as it is written, so it outlives a function that is
    killed, and the database.
    """

    def __init__(self, claims: Claims, logger: Logger, *, phone_number_id: str) -> None:
        self._claims = claims
        self._logger = logger
        self._phone_number_id = phone_number_id

    def claim(self, keys: Iterable[Key], *, now: datetime, lease: datetime) -> Claim:
        """Make queued rows ours, and note it before any of them leaves."""
        claim = self._claims.claim(keys, now=now, lease=lease)
        self._note(claimed(claim.rows))
        return claim

    def record(self, results: Sequence[Result], *, now: datetime, patience_seconds: float) -> None:
        """Note results, whether or not the database takes them, and write them."""
        self._note(became(results))
        self._claims.record(results, now=now, patience_seconds=patience_seconds)

    def release(self, keys: Iterable[Key], *, now: datetime) -> None:
        """Give queued rows back: they were never claimed."""
        self._claims.release(keys, now=now)

    def policy(self, campaign_id: int) -> SendPolicy:
        """Return what a sender must know of a campaign."""
        return self._claims.policy(campaign_id)

    def _note(self, fields: dict[str, Any]) -> None:
        if fields:
            self._logger.info(MARK, extra={**fields, "phone_number_id": self._phone_number_id})


class JournalReader:
    """The journals of all senders, from CloudWatch Logs.

    ``prefix`` begins the names of their log groups: those of numbers that were removed are read
    as long as they are kept.
    """

    def __init__(self, client: Any, *, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def between(self, since: datetime, until: datetime) -> Iterator[Noted]:
        """Yield what was noted from ``since`` until before ``until``, in the order of time."""
        groups = [self._lines(group, since, until) for group in self._groups()]
        for at, line in merge(*groups, key=lambda entry: entry[0]):
            yield from noted_in(line, at=_EPOCH + timedelta(milliseconds=at))

    def _groups(self) -> list[str]:
        pages = self._client.get_paginator("describe_log_groups")
        return [
            group["logGroupName"]
            for page in pages.paginate(logGroupNamePrefix=self._prefix)
            for group in page["logGroups"]
        ]

    def _lines(self, group: str, since: datetime, until: datetime) -> Iterator[tuple[int, str]]:
        pages = self._client.get_paginator("filter_log_events").paginate(
            logGroupName=group,
            startTime=_milliseconds(since),
            # CloudWatch's end is included.
            endTime=_milliseconds(until) - 1,
            filterPattern=f'"{MARK}"',
        )
        for page in pages:
            for event in page["events"]:
                yield event["timestamp"], event["message"]


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)
