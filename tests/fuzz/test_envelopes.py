"""What lies in the parked queue, and the secrets: whatever their shape, nothing is raised."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from unittest.mock import patch

from aws_lambda_powertools.utilities.parameters import SecretsProvider
from hypothesis import given
from hypothesis import strategies as st

from sluice.adapters.parameters import SecretInvalidError, Secrets
from sluice.domain.letter import Letter
from sluice.domain.limits import SQS_MESSAGE_BYTES_MAX
from sluice.domain.parked import Destination, destination_of, envelope, fresh_attributes, opened
from sluice.domain.webhook import verify_challenge, verify_signature
from sluice.steps.report.parked import parked
from tests.fuzz.shapes import ANY_TEXT, JSON, NASTY

TEXTS = ANY_TEXT | NASTY
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["kind", "lane", "redrives"]) | TEXTS, TEXTS, max_size=12
)
STEPS = (
    st.sampled_from(["campaign", "send", "send-1-bulk", "statuses", "signal", "approve"]) | TEXTS
)
ENVELOPE = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("id", "step", "reasons", "attributes", "body", "truncated", "more"), JSON
    ),
)


class Messages:
    """The parked queue with one message."""

    def __init__(self, found):
        self._found = [found]

    def take(self, **_hidden):
        taken, self._found = self._found, []
        return taken

    def show_again(self, _parked):
        pass

    def approximate_count(self):
        return 1


def letter(body):
    return Letter("handle", body, {}, message_id="m", sent_at=datetime(2026, 3, 1, tzinfo=UTC))


@given(STEPS, st.lists(TEXTS, max_size=25), TEXTS, ATTRIBUTES, st.integers(1, 30_000))
def test_what_is_parked_is_found_as_it_was(step, reasons, body, attributes, times):
    body *= max(1, times // max(1, len(body)))

    kept = json.dumps(envelope(step=step, reasons=reasons, body=body, attributes=attributes))
    found = opened(letter(kept))

    assert len(kept) < SQS_MESSAGE_BYTES_MAX
    assert found.step == step
    assert found.truncated or (found.body, found.attributes) == (body, attributes)
    assert found.id == opened(letter(kept)).id


@given(JSON | ENVELOPE | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_whatever_lies_there_is_told_and_has_a_place_or_a_reason(content):
    body = content if isinstance(content, str) else json.dumps(content)
    found = opened(letter(body))

    place = destination_of(found)
    assert isinstance(place, Destination) or place
    assert all(isinstance(value, str) for value in fresh_attributes(found).values())
    told = parked(Messages(found), wanted=None)
    assert json.loads(json.dumps(told))["parked"][0]["id"] == found.id


@given(
    st.dictionaries(st.sampled_from(["access_token", "app_secrets", "verify_token"]), JSON) | JSON
)
def test_a_secret_of_any_shape_is_used_or_refused_without_its_content(secret):
    with patch.object(SecretsProvider, "get", lambda *_, **__: secret):
        secrets = Secrets(SimpleNamespace(meta=None))
        for ask in (secrets.access_token, secrets.webhook):
            try:
                told = ask("s")
            except SecretInvalidError as error:
                assert len(str(error)) < 60  # noqa: PT017 - or else it is used
                continue
            if isinstance(told, str):
                assert told.encode("latin-1")
                continue
            assert not verify_signature(b"{}", "sha256=" + "0" * 64, told[0])
            assert (
                verify_challenge({"hub.mode": "subscribe", "hub.verify_token": ""}, told[1]) is None
            )
