"""A campaign with a picture, two variants and a holdout, from its first draft to everybody."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from local.cloud_api.config import SAMPLE_TEMPLATES
from local.judge.checks import Expected
from local.judge.judgement import Outcome
from local.judge.launch import HELD_OUT, Launch, launch_checks
from local.sample_audience import CSV_FILE, DUPLICATES, INVALID
from local.scenarios import meta
from local.scenarios.model import Scenario
from local.scenarios.people import addresses, csv_of, in_the_united_states, people
from local.scenarios.play import FIRST_NUMBER, SECOND_NUMBER, Play
from local.scenarios.weather import MISHAPS

CAMPAIGN: Final = "opening"
TEMPLATE: Final = "clinic_opening"
WITH_PLACE: Final = "clinic_opening_place"
PICTURE: Final = b"\x89PNG\r\n\x1a\n" + b"clinic" * 100
CANARY: Final = 300
HOLDOUT: Final = 0.1
KEY: Final = "winter-2026"
APPROVAL_ABOVE: Final = 1_000
STAFF: Final = slice(0, 2_940, 60)
STOPPED_BY_MAIL: Final = slice(1, 2_940, 100)
TESTERS: Final = ("+447700900998", "+447700900999")
NEVER: Final = float("inf")


def _template(name: str, status: str) -> dict[str, Any]:
    [sample] = [one for one in SAMPLE_TEMPLATES if one["name"] == TEMPLATE]
    return {**sample, "name": name, "status": status}


def story(play: Play) -> Outcome:
    """Draft it, be refused, have it approved by Meta and by a person, try it, let it go."""
    picture = play.put("clinic.png", PICTURE)
    lists(play)
    request = _request(picture)
    refusals = {"misfit": refuse(play, {**request, **_mistakes(picture)}, 1)}
    discard(play, "campaign")
    refusals["not approved"] = refuse(play, request, 2)
    play.meta_does(templates=[*SAMPLE_TEMPLATES, _template(WITH_PLACE, "APPROVED")])
    play.meta_says(*meta.template_status(WITH_PLACE, "APPROVED"))
    play.pause(2.0)
    play.order("return", parked="all", step="campaign")
    play.until("it is held", lambda: play.report(CAMPAIGN).get("state") == "awaiting approval")
    tests = test(play)
    refusals["approved by the topic"] = refuse(play, _approval(), 3)
    discard(play, "command")
    approve(play)
    play.publish(request)
    changed = {**request, "max_attempts": 2}
    refusals["another content"] = refuse(play, changed, 4)
    discard(play, "campaign")
    play.over(CAMPAIGN)
    launch = _seen(play, refusals, tests)
    # Who is held out is counted apart.
    left_out = [some for why, some in launch.left_out.items() if why != HELD_OUT]
    rejected = DUPLICATES + INVALID + sum(map(len, left_out))
    expected = Expected(CAMPAIGN, len(launch.sides), rejected)
    return Outcome((expected,), launch_checks(launch))


def _request(picture: str) -> dict[str, Any]:
    variant = {"name": "with-place", "share": 0.5, "template": _message(picture, WITH_PLACE)}
    return {
        "kind": "campaign",
        "campaign": CAMPAIGN,
        "template": _message(picture, TEMPLATE),
        "numbers": [FIRST_NUMBER, SECOND_NUMBER],
        "audience": {"saved": "members"},
        "exclude": [{"saved": "staff"}],
        "category": "marketing",
        "split": {
            "key": KEY,
            "holdout": HOLDOUT,
            "variants": [{"name": "short", "share": 0.5}, variant],
        },
        "stages": [{"recipients": CANARY, "failure_rate_max": 0.05}],
    }


def _message(picture: str, name: str) -> dict[str, Any]:
    header = {"type": "header", "parameters": [{"type": "image", "image": {"s3": picture}}]}
    body = [
        {"type": "text", "parameter_name": column, "text": f"{{{{{column}}}}}"}
        for column in ("name", "clinic")
    ]
    return {
        "name": name,
        "language": "en_US",
        "components": [header, {"type": "body", "parameters": body}],
    }


def _mistakes(picture: str) -> dict[str, Any]:
    """The wrong category, a parameter too few, and a language that the variant has not."""
    template = _message(picture, TEMPLATE)
    template["components"] = [
        {"type": "body", "parameters": template["components"][1]["parameters"][:1]}
    ]
    variant = {**_message(picture, TEMPLATE), "language": "fr"}
    split = {"variants": [{"name": "french", "share": 0.5, "template": variant}]}
    return {"template": template, "category": "utility", "split": split}


def lists(play: Play) -> None:
    """Save the members and the staff, and import who stopped by mail."""
    everybody = people()
    members = play.put("members.csv", CSV_FILE.read_bytes())
    staff = play.put("staff.csv", csv_of(everybody[STAFF]))
    play.publish({"kind": "audience", "id": "members", "s3": members})
    play.publish({"kind": "audience", "id": "staff", "s3": staff})
    stopped = addresses(everybody[STOPPED_BY_MAIL])
    play.publish(
        {"kind": "suppressions", "id": "by-mail", "action": "suppress", "scope": "marketing",
         "reason": "asked by mail", "recipients": stopped}
    )  # fmt: skip
    play.until("both are saved", lambda: all(
        play.ask(audience=name).get("state") == "saved" for name in ("members", "staff")
    ))  # fmt: skip
    play.until(
        "who stopped is known", lambda: play.ask(suppressions="by-mail").get("state") == "finished"
    )


def refuse(play: Play, request: Mapping[str, Any], so_many: int) -> list[str]:
    """Publish what is to be refused, as the so many-th, and return the reasons."""
    play.publish(request)
    play.until(f"{so_many} are refused", lambda: len(play.audit("refused")) == so_many)
    return list(map(str, play.audit("refused")[-1]["details"]["reasons"]))


def discard(play: Play, step: str) -> None:
    """Discard what was parked."""
    play.until("it is parked", lambda: play.system.waiting("parked"))
    play.order("discard", parked="all", step=step)
    play.until("it is discarded", lambda: not play.system.waiting("parked"))


def test(play: Play) -> dict[tuple[str, str], int]:
    """Send it to two people of the staff first; return what must reach Meta."""
    parameters = {"name": "Ada", "clinic": "City Clinic"}
    recipients = [{"address": one, "parameters": parameters} for one in TESTERS]
    play.order("test", campaign=CAMPAIGN, id="first-look", recipients=recipients)
    expected = {
        (number, template): len(TESTERS)
        for number in (FIRST_NUMBER, SECOND_NUMBER)
        for template in (TEMPLATE, WITH_PLACE)
    }
    play.until("the test is sent", lambda: _tested(play).total() >= sum(expected.values()))
    return expected


def _tested(play: Play) -> Counter[tuple[str, str]]:
    return Counter(
        (one.phone_number_id, one.content) for one in play.requests() if one.recipient in TESTERS
    )


def _approval() -> dict[str, Any]:
    return {"kind": "command", "action": "approve", "campaign": CAMPAIGN}


def approve(play: Play) -> None:
    """Send the decision where only approvers may."""
    play.system.aws.client("sqs").send_message(
        QueueUrl=play.system.deployment.queue_urls["approvals"], MessageBody=json.dumps(_approval())
    )
    play.until("it is approved", lambda: _decision(play).get("state") == "given")


def _decision(play: Play) -> dict[str, Any]:
    return dict(play.report(CAMPAIGN).get("approval") or {})


def _seen(
    play: Play, refusals: Mapping[str, list[str]], tests: Mapping[tuple[str, str], int]
) -> Launch:
    sends, decision = play.requests(CAMPAIGN), _decision(play)
    sent: dict[str, list[str]] = {}
    for one in sends:
        sent.setdefault(one.recipient, []).append(one.content)
    sides, left_out = _sides()
    passed = play.audit("stage passed", campaign=CAMPAIGN)
    return Launch(
        refusals=refusals,
        uploads=Counter(
            one["phone_number_id"] for one in play.system.api.ask("uploads")["uploads"]
        ),
        tested=_tested(play),
        tests=tests,
        approved_at=_unix(decision.get("at")),
        approved_by=decision.get("by"),
        passed_at=_unix(passed[0]["at"] if passed else None),
        canary=CANARY,
        sent_at=[one.wall for one in sends],
        sent=sent,
        sides=sides,
        left_out=left_out,
        holdout=play.report(CAMPAIGN)["holdout"],
    )


def _sides() -> tuple[dict[str, str], dict[str, list[str]]]:
    """Who gets which template, and who gets nothing and why, reckoned as the documents say."""
    everybody = people()
    staff, by_mail = set(addresses(everybody[STAFF])), set(addresses(everybody[STOPPED_BY_MAIL]))
    sides: dict[str, str] = {}
    left_out: dict[str, list[str]] = {
        "in the United States": [], "suppressed": [], "excluded": [], HELD_OUT: []
    }  # fmt: skip
    for person in everybody:
        address = person["address"]
        digest = hashlib.sha256(f"{KEY}:{address}".encode()).hexdigest()
        place = int(digest[:12], 16) / 2**48
        if in_the_united_states(person):
            left_out["in the United States"].append(address)
        elif address in by_mail:
            left_out["suppressed"].append(address)
        elif address in staff:
            left_out["excluded"].append(address)
        elif place < HOLDOUT:
            left_out[HELD_OUT].append(address)
        else:
            first = place < HOLDOUT + (1 - HOLDOUT) * 0.5
            sides[address] = TEMPLATE if first else WITH_PLACE
    return sides, left_out


def _unix(moment: str | None) -> float:
    return datetime.fromisoformat(moment).timestamp() if moment else NEVER


LAUNCH: Final = Scenario(
    "launch",
    "a campaign is drafted, refused, mended, tried, approved, and goes to a few and then to all",
    story,
    simulation={**MISHAPS, "templates": [*SAMPLE_TEMPLATES, _template(WITH_PLACE, "PENDING")]},
    stage={
        "approval_above_recipients": APPROVAL_ABOVE,
        "approvers": ["arn:aws:iam::000000000000:role/head-of-clinic"],
    },
)
