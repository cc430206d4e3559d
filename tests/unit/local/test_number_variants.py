"""The audience of numbers that are written in two ways."""

import csv
import io

from local import number_variants
from local.cloud_api.messages import read_send
from local.sample_audience import AUDIENCES
from local.scenarios.one_campaign import MEXICO_AND_BRAZIL
from sluice.domain.addresses import Address, parse_address
from sluice.domain.suppressions import key_of_identity, match_key


def given() -> list[str]:
    """The addresses in the file."""
    text = (AUDIENCES / MEXICO_AND_BRAZIL.file).read_text(encoding="utf-8")
    return [row["address"] for row in csv.DictReader(io.StringIO(text))]


def wa_id(address: str) -> str:
    """What the simulated Cloud API makes of it."""
    body = f'{{"messaging_product": "whatsapp", "to": "{address}", "text": {{"body": "hi"}}}}'
    return read_send(body.encode(), "1").wa_id  # type: ignore[union-attr]


def test_the_file_is_what_the_script_writes() -> None:
    written = "write it again: python -m local.sample_audience"
    assert (AUDIENCES / number_variants.FILE).read_bytes() == number_variants.csv_bytes(), written


def test_every_number_is_taken_as_it_is_written() -> None:
    assert all(parse_address(address) == Address("phone", address) for address in given())


def test_each_person_is_expected_once_or_has_stopped() -> None:
    stopped = {key_of_identity(one) for one in MEXICO_AND_BRAZIL.stopping}
    people = {match_key(address) for address in given()}
    sent_to = MEXICO_AND_BRAZIL.sent_to or frozenset()
    keys = {match_key(address) for address in sent_to}
    assert len(keys) == len(sent_to) == MEXICO_AND_BRAZIL.people
    assert people - keys == stopped
    assert sent_to <= set(given())
    assert MEXICO_AND_BRAZIL.rejected == len(given()) - len(sent_to)


def test_whatsapp_knows_many_of_them_by_another_number() -> None:
    sent_to = MEXICO_AND_BRAZIL.sent_to or frozenset()
    assert sum(f"+{wa_id(address)}" != address for address in sent_to) > 60


def test_who_stops_does_so_under_a_number_that_is_not_in_the_file() -> None:
    mobile = [one for one in MEXICO_AND_BRAZIL.stopping if not one.startswith("552530")]
    assert len(mobile) == 3 * number_variants.STOPS
    assert not {f"+{one}" for one in mobile} & set(given())


def test_a_landline_stops_and_whoever_has_it_with_a_nine_does_not() -> None:
    sent_to = MEXICO_AND_BRAZIL.sent_to or frozenset()
    assert "+552530000000" not in sent_to
    assert {"+5525930000000", "+552530000003", "+5525930000003"} <= sent_to
