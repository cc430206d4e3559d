"""Send: chunks of one number from its queue to the Cloud API, at the slot's pace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.utilities.data_classes import SQSEvent
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sluice import metrics, wiring
from sluice.adapters.cloud_api import CloudApi
from sluice.adapters.events import attributes_of, deadline_of
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.queues import Parking
from sluice.adapters.telemetry import Telemetry
from sluice.domain.claim import Key
from sluice.domain.clock import Clock
from sluice.domain.direct import direct_send
from sluice.domain.lanes import Lane, SlotPace
from sluice.domain.limits import SEND_RESERVE_SECONDS
from sluice.domain.pairs import Pairs
from sluice.domain.problems import Problem
from sluice.domain.requests import Chunk, SendRequest, parse, request_hash
from sluice.domain.sending import Claims, Sent
from sluice.steps.send import Sender


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that can never be sent, and why."""

    problems: Sequence[Problem]


def handle(
    event: Mapping[str, Any],
    *,
    phone_number_id: str,
    pace: SlotPace,
    entered_at: float,
    deadline: float,
    claims: Claims,
    campaigns: Campaigns,
    stops: Stops,
    cloud_api: CloudApi,
    parking: Parking,
    telemetry: Telemetry,
    pairs: Pairs,
    clock: Clock,
    dice: Callable[[], float],
) -> dict[str, Any]:
    """Send what the messages point to; ``entered_at`` and ``deadline`` are monotonic seconds."""
    chunks: list[tuple[str, Sequence[Key]]] = []
    for record in SQSEvent(dict(event)).records:
        found = _keys(record, phone_number_id, pace.lane, campaigns, clock)
        if isinstance(found, Refused):
            attributes = attributes_of(record)
            reasons = list(map(str, found.problems))
            parking.park(step="send", reasons=reasons, body=record.body, attributes=attributes)
            telemetry.report(
                "parked",
                counts={metrics.PARKED.name: 1},
                message_id=record.message_id,
                reasons=reasons,
            )
        else:
            chunks.append((record.message_id, found))
    sender = Sender(
        phone_number_id=phone_number_id,
        pace=pace,
        entered_at=entered_at,
        deadline=deadline,
        claims=claims,
        stops=stops,
        cloud_api=cloud_api,
        pairs=pairs,
        clock=clock,
        dice=dice,
    )
    sent = sender.send([keys for _, keys in chunks])
    _report(
        sent,
        phone_number_id,
        pace.lane,
        seconds=clock.monotonic() - entered_at,
        latencies=cloud_api.latencies(),
        telemetry=telemetry,
    )
    failed = [chunks[place][0] for place in sorted(sent.unfinished)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _keys(
    record: SQSRecord, phone_number_id: str, lane: Lane, campaigns: Campaigns, clock: Clock
) -> list[Key] | Refused:
    """Return the deliveries that a message points to; those of a direct send are stored first."""
    request = parse(record.body, attributes_of(record))
    if isinstance(request, Chunk):
        return [Key(request.campaign_id, seq) for seq in request.seqs]
    if isinstance(request, list):
        return Refused(request)
    if not isinstance(request, SendRequest):
        return Refused([Problem("kind", "only send belongs into this queue")])
    direct = direct_send(request, phone_number_id=phone_number_id, lane=lane)
    if isinstance(direct, list):
        return Refused(direct)
    keys = campaigns.store_direct(
        request, direct, request_hash=request_hash(request), now=clock.now()
    )
    if keys is None:
        return Refused([Problem("id", "was used before, for another content")])
    return keys


def _report(
    sent: Sent,
    phone_number_id: str,
    lane: Lane,
    *,
    seconds: float,
    latencies: Sequence[float],
    telemetry: Telemetry,
) -> None:
    if sent.failure is not None:
        telemetry.fail("ended early", sent.failure, unfinished=len(sent.unfinished))
    if sent.unrecognised:
        telemetry.warn("codes that the error table does not have", codes=sorted(sent.unrecognised))
    if sent.without_media:
        telemetry.warn("media are not uploaded", campaign_ids=sorted(sent.without_media))
    dimensions = {"phone_number_id": phone_number_id, "lane": lane}
    for (campaign_id, code), count in sorted(sent.refusals.items()):
        # A line each: the log can add up what stands in a field, not what a field is named.
        telemetry.warn("refused", **dimensions, campaign_id=campaign_id, code=code, times=count)
    telemetry.report(
        "sent",
        counts=_counts(sent),
        seconds={metrics.PACED_TIME.name: sent.paced_seconds, "SlotTime": seconds},
        samples={
            metrics.API_LATENCY.name: latencies,
            metrics.CLAIM_TIME.name: sent.claim_milliseconds,
        },
        dimensions=dimensions,
        campaign_ids=sorted(sent.campaign_ids),
        codes={str(code): count for code, count in sent.codes.items()},
    )


def _counts(sent: Sent) -> dict[str, int]:
    outcomes = sent.outcomes
    # To be too fast for a moment needs nobody.
    stops = sent.stops - outcomes["Throttled"]
    return {
        "Claimed": sent.claimed,
        "Spaced": sent.spaced,
        **outcomes,
        metrics.SENDS.name: sent.started,
        metrics.CONCLUDED.name: outcomes["Accepted"] + outcomes["Failed"],
        metrics.THROTTLED.name: outcomes["Throttled"],
        metrics.FAILED.name: outcomes["Failed"],
        metrics.RETRIED.name: outcomes["Retry"],
        metrics.UNANSWERED.name: outcomes["Unknown"],
        metrics.ENDED_EARLY.name: int(sent.failure is not None),
        metrics.NEEDS_PERSON.name: stops + len(sent.unrecognised) + len(sent.without_media),
    }


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters; the first gap begins here."""
    clock = wiring.clock()
    entered_at = clock.monotonic()
    wiring.require("send")
    wiring.telemetry().begin(context)
    deadline = deadline_of(context, clock)
    wiring.database().give_up_at_latest(deadline - SEND_RESERVE_SECONDS)
    return handle(
        event,
        phone_number_id=wiring.phone_number_id(),
        pace=wiring.slot_pace(),
        entered_at=entered_at,
        deadline=deadline,
        claims=wiring.claims(),
        campaigns=wiring.campaigns(),
        stops=wiring.stops(),
        cloud_api=wiring.cloud_api(),
        parking=wiring.parking(),
        telemetry=wiring.telemetry(),
        pairs=wiring.pairs(),
        clock=clock,
        dice=wiring.dice(),
    )
