"""However a number is written, its person has one key; and no two people share one."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.domain.suppressions import key_of_identity, match_key, spellings

ADDRESSES = (
    st.from_regex(r"\+(?:55[1-9]{2}9?|521?|549?)[2-9][0-9]{7}", fullmatch=True)
    | st.from_regex(r"\+(?:521?|549?)[1-9][0-9]{9}", fullmatch=True)
    | st.from_regex(r"\+(?:55|52|54)[0-9]{5,12}", fullmatch=True)
    | st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True)
    | st.from_regex(r"[A-Z]{2}\.[A-Za-z0-9]{1,128}", fullmatch=True)
)
# The rules once more, each as the pair of ways to write a number.
PAIRS = (
    (r"\+55([1-9]{2})([6-9][0-9]{7})", r"\+55([1-9]{2})9([6-9][0-9]{7})"),
    (r"\+52()([2-9][0-9]{9})", r"\+521()([2-9][0-9]{9})"),
    (r"\+54()([1-3][0-9]{9})", r"\+549()([1-3][0-9]{9})"),
)


def are_one_by_the_rules(one, other):
    for short, long in PAIRS:
        first, second = re.fullmatch(short, one), re.fullmatch(long, other)
        if first and second and first.groups() == second.groups():
            return True
    return one == other


@st.composite
def pairs(draw):
    """Two numbers that may be one person's: the same, with something put in or left out."""
    one = draw(ADDRESSES)
    place = draw(st.integers(3, min(5, len(one))))
    put = draw(st.sampled_from(["", "1", "9", "5"]))
    left_out = draw(st.integers(0, 1))
    return one, one[:place] + put + one[place + left_out :]


WITH_AND_WITHOUT = st.builds(
    lambda country, area, extra, rest: (
        (f"+{country}{area}{rest}", f"+{country}{extra}{area}{rest}")
        if country != "55"
        else (f"+{country}{area}{rest}", f"+{country}{area}{extra}{rest}")
    ),
    st.sampled_from(["55", "52", "54", "1"]),
    st.from_regex(r"[1-9][1-9]", fullmatch=True),
    st.sampled_from(["9", "1"]),
    st.from_regex(r"[0-9]{8}", fullmatch=True),
)
"""A number with and without the digit that some networks put into it."""


@given(ADDRESSES)
def test_the_key_of_a_key_is_the_key(address: str) -> None:
    assert match_key(match_key(address)) == match_key(address)


@given(pairs() | WITH_AND_WITHOUT)
def test_two_meet_exactly_by_the_rules(pair: tuple[str, str]) -> None:
    one, other = pair
    meet = are_one_by_the_rules(one, other) or are_one_by_the_rules(other, one)

    assert (match_key(one) == match_key(other)) is meet


@given(st.sampled_from(["11", "31", "85"]), st.from_regex(r"[2-5][0-9]{7}", fullmatch=True))
def test_a_landline_in_brazil_is_nobody_elses(area: str, number: str) -> None:
    assert match_key(f"+55{area}{number}") == f"+55{area}{number}"


@given(ADDRESSES)
def test_all_the_ways_to_write_a_person_have_the_key_and_every_address_is_one(address: str) -> None:
    key = match_key(address)

    assert {match_key(one) for one in spellings(key)} == {key}
    assert address in spellings(key)


@given(ADDRESSES)
def test_what_a_webhook_calls_a_person_finds_who_was_written_to(address: str) -> None:
    assume(not address.startswith("+") or len(address) > 7)

    assert key_of_identity(address.removeprefix("+")) == match_key(address)
