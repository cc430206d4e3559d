"""Statuses may come in any order and any number: what they leave behind is the same."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sluice.domain.delivery import (
    INTEGER_MAX,
    SMALLINT_MAX,
    STATUS_OF_WEBHOOK,
    OpaqueId,
    Status,
    StatusUpdate,
    reduce_updates,
    update_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
MOMENTS = st.none() | st.datetimes(
    datetime(2026, 1, 1),  # noqa: DTZ001 - Hypothesis adds the zone
    datetime(2027, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
UPDATES = st.builds(
    StatusUpdate,
    campaign_id=st.integers(1, 2),
    seq=st.integers(0, 2),
    attempt=st.integers(0, 1),
    status=st.sampled_from(Status),
    sent_at=MOMENTS,
    delivered_at=MOMENTS,
    read_at=MOMENTS,
    failed_at=MOMENTS,
    error_code=st.none() | st.integers(0, 200_000),
    wamid=st.sampled_from(["", "wamid.A", "wamid.B"]),
    pricing=st.none() | st.integers(0, 15),
)


@given(st.lists(UPDATES), st.randoms(use_true_random=False))
def test_the_order_makes_no_difference(updates: list[StatusUpdate], dice: object) -> None:
    shuffled = list(updates)
    dice.shuffle(shuffled)  # type: ignore[attr-defined]
    assert reduce_updates(shuffled) == reduce_updates(updates)


@given(st.lists(UPDATES))
def test_duplicates_make_no_difference(updates: list[StatusUpdate]) -> None:
    assert reduce_updates(updates * 2) == reduce_updates(updates)


@given(st.lists(UPDATES), st.lists(UPDATES))
def test_batches_make_no_difference(earlier: list[StatusUpdate], later: list[StatusUpdate]) -> None:
    assert reduce_updates(reduce_updates(earlier) + later) == reduce_updates(earlier + later)


@given(st.lists(UPDATES, min_size=1), UPDATES)
def test_a_status_never_goes_back(updates: list[StatusUpdate], one_more: StatusUpdate) -> None:
    before = {update.key: update.status for update in reduce_updates(updates)}
    after = {update.key: update.status for update in reduce_updates([*updates, one_more])}
    assert all(after[key] >= status for key, status in before.items())


@given(st.lists(UPDATES))
def test_each_attempt_comes_once_and_in_order(updates: list[StatusUpdate]) -> None:
    keys = [update.key for update in reduce_updates(updates)]
    assert keys == sorted({update.key for update in updates})


@given(
    st.builds(
        OpaqueId,
        st.integers(0, INTEGER_MAX),
        st.integers(0, INTEGER_MAX),
        st.integers(0, SMALLINT_MAX),
    )
)
def test_our_id_comes_back_as_it_went_out(opaque_id: OpaqueId) -> None:
    assert OpaqueId.parse(str(opaque_id)) == opaque_id


@given(st.text() | st.from_regex(r"[0-9]{1,20}:[0-9]{1,11}:[0-9]{1,6}", fullmatch=True))
def test_an_id_that_is_parsed_is_written_as_it_was(text: str) -> None:
    opaque_id = OpaqueId.parse(text)
    assert opaque_id is None or str(opaque_id) == text


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.just("wamid.A") | JSON,
            "status": st.sampled_from(sorted(STATUS_OF_WEBHOOK)) | JSON,
            "timestamp": st.just("1796126400") | JSON,
            "opaque": st.just("1:2:3") | JSON,
            "errors": JSON,
        },
    )
)
def test_no_status_whatever_its_shape_raises(status: dict[str, object]) -> None:
    update_of(status)
