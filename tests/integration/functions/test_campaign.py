"""campaign.handle on real Postgres: what is carried out, what comes again, what is parked."""

import pytest

from tests.integration.functions.ports import failed, parked, reasons, samples

OUTCOMES = {
    "drop_audience": "again",
    "exclude": "again",
    "expired_before_start": "parked",
    "invalid_fields": "parked",
    "invalid_json": "parked",
    "invalid_suppressions": "parked",
    "mismatched_attributes": "parked",
    "saved": "again",
    "unknown_kind": "parked",
}
"""The others are carried out."""


@pytest.mark.parametrize("sample", samples("campaign"))
def test_a_sample_is_carried_out_or_comes_again_or_is_parked(campaign, aws, load_event, sample):
    answer = campaign.run(load_event(f"campaign/{sample}"))

    outcome = "again" if failed(answer) else "parked" if parked(aws) else "done"
    assert outcome == OUTCOMES.get(sample, "done")


def test_a_campaign_that_is_published_twice_is_one(campaign, world, aws, load_event):
    for sample in ("inline", "duplicate"):
        assert not failed(campaign.run(load_event(f"campaign/{sample}")))

    assert world.database.fetch("SELECT count(*) FROM campaign") == [(1,)]
    assert world.database.fetch("SELECT count(*) FROM delivery") == [(3,)]
    assert parked(aws) == []


def test_the_same_id_with_another_content_is_parked_with_the_reason(campaign, aws, load_event):
    campaign.run(load_event("campaign/inline"))

    answer = campaign.run(load_event("campaign/conflict"))

    (envelope,) = parked(aws)
    assert not failed(answer)
    assert envelope["reasons"] == ["campaign vaccination-2026-12 exists with another content"]
    assert envelope["step"] == "campaign"
    assert envelope["attributes"] == {"kind": "campaign"}


def test_invalid_fields_are_all_named(campaign, aws, load_event):
    campaign.run(load_event("campaign/invalid_fields"))

    places = {reason.partition(":")[0] for reason in reasons(aws)}
    assert places >= {"campaign", "template.name", "numbers", "expires_at", "send_window"}


def test_a_chunk_does_not_belong_into_this_queue(campaign, aws, load_event):
    campaign.run(load_event("send/chunk"))

    assert reasons(aws) == ["kind=send does not belong into this queue"]
