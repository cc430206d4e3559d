"""Whatever Meta writes into a signal, it is read without an error, and names nothing unclean."""

from dataclasses import fields
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.signals import actions_of

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
NAMES = (
    "user_preferences", "messages", "errors", "contacts", "metadata", "phone_number_id", "wa_id",
    "user_id", "from", "from_user_id", "category", "value", "timestamp", "text", "body", "button",
    "payload", "interactive", "button_reply", "title", "code", "event", "message_template_name",
    "message_template_language", "other_info", "ban_info", "waba_ban_state", "restriction_info",
    "restriction_type", "expiration",
)  # fmt: skip
WORDS = (
    "stop", "resume", "START", "marketing_messages", "12025550101", "US.134", "PAUSED", "APPROVED",
    "DISABLE", "REINSTATE", "RESTRICTED_BIZ_INITIATED_MESSAGING", "a\0b", "\ud800", "190",
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
VALUES = st.recursive(
    LEAVES | st.sampled_from(WORDS) | st.sampled_from([190, 130429, 1796126400]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=30,
)
FIELDS = ("messages", "user_preferences", "message_template_status_update", "account_update")


@given(
    st.fixed_dictionaries(
        {
            "account": LEAVES | st.sampled_from(WORDS),
            "field": st.sampled_from(FIELDS) | LEAVES,
            "time": LEAVES | st.just(1796126400),
            "value": st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8) | VALUES,
        }
    )
)
def test_any_signal_is_read(signal: dict[str, object]) -> None:
    for action in actions_of(signal, now=NOW):
        texts = [getattr(action, field.name) for field in fields(action)]
        assert all(text.isprintable() for text in texts if isinstance(text, str))
