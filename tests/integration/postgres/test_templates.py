"""Templates as the newest word has them, and the calls that are left."""

from datetime import timedelta

import pytest

from sluice.domain.told import TellTemplate
from tests.conftest import NOW, OTHER_NUMBER, connect
from tests.templates import stored

ACCOUNT = "102290129340398"
LATER = NOW + timedelta(minutes=5)


@pytest.fixture
def templates(world):
    return world.templates


def keep(templates, *found, at=NOW, name=None, account=ACCOUNT):
    templates.store(account, list(found), asked_at=at, name=name)


def tell(templates, at, *, name="reminder", language="en_us", **facts):
    templates.tell(TellTemplate(ACCOUNT, name, language, at, **facts))


def known(templates, name="reminder"):
    """(language, status, whether it need not be asked again) of each."""
    return [
        (one.template.language, one.template.status, one.synced_at is not None)
        for one in templates.find(ACCOUNT, name)
    ]


def test_what_is_kept_is_found_as_it_was(templates):
    both = [stored(), stored(language="pt_BR", status="PAUSED", parameter_format="NAMED")]

    keep(templates, *both, stored(name="another"))

    assert [one.template for one in templates.find(ACCOUNT, "reminder")] == both
    assert {one.synced_at for one in templates.find(ACCOUNT, "reminder")} == {NOW}
    assert templates.find("7", "reminder") == []


def test_the_same_answer_twice_is_kept_once(templates):
    for _ in range(2):
        keep(templates, stored(), stored())

    assert known(templates) == [("en_US", "APPROVED", True)]


def test_what_an_account_has_no_more_is_forgotten(templates):
    keep(templates, stored(), stored(language="pt_BR"), stored(name="another"))

    keep(templates, stored(name="another"), stored(), at=LATER)

    assert known(templates) == [("en_US", "APPROVED", True)]
    assert known(templates, "another") == [("en_US", "APPROVED", True)]


def test_what_a_name_has_no_more_is_forgotten_and_other_names_are_left(templates):
    keep(templates, stored(), stored(name="another"))

    keep(templates, at=LATER, name="reminder")

    assert known(templates) == []
    assert len(known(templates, "another")) == 1


def test_only_all_templates_together_are_a_sync(templates):
    assert templates.synced_at(ACCOUNT) is None
    keep(templates, stored(), name="reminder")
    assert templates.synced_at(ACCOUNT) is None

    keep(templates, at=LATER)
    keep(templates, at=NOW)

    assert templates.synced_at(ACCOUNT) == LATER


def test_an_older_answer_that_comes_late_changes_nothing(templates):
    keep(templates, stored(status="PAUSED"), at=LATER)

    keep(templates, stored(), at=NOW)

    assert known(templates) == [("en_US", "PAUSED", True)]


def test_a_signal_is_newer_than_the_answer_before_it(templates):
    keep(templates, stored())

    tell(templates, LATER, status="PAUSED", category="MARKETING", quality="RED")

    (one,) = templates.find(ACCOUNT, "reminder")
    assert (one.template.status, one.template.category, one.template.quality) == (
        "PAUSED",
        "MARKETING",
        "RED",
    )
    assert one.synced_at is None, "the next who needs it asks"


def test_a_signal_of_the_second_of_the_answer_counts(templates):
    keep(templates, stored(), at=NOW + timedelta(milliseconds=700))

    tell(templates, NOW, status="PAUSED")

    assert known(templates) == [("en_US", "PAUSED", False)]


def test_an_older_signal_changes_nothing_but_is_looked_into(templates):
    keep(templates, stored(), at=LATER)

    tell(templates, NOW, status="PAUSED")

    assert known(templates) == [("en_US", "APPROVED", False)]


def test_an_answer_that_was_asked_for_before_a_signal_does_not_undo_it(templates):
    keep(templates, stored())
    tell(templates, LATER, status="PAUSED")

    keep(templates, stored(), at=NOW + timedelta(minutes=1))
    assert known(templates) == [("en_US", "PAUSED", False)]

    keep(templates, stored(), at=LATER + timedelta(minutes=1))
    assert known(templates) == [("en_US", "APPROVED", True)]


def test_a_signal_without_a_status_keeps_the_status(templates):
    keep(templates, stored())

    tell(templates, LATER, quality="YELLOW")

    assert known(templates) == [("en_US", "APPROVED", False)]


@pytest.mark.parametrize(("language", "paused"), [("pt_br", ["pt_BR"]), (None, ["en_US", "pt_BR"])])
def test_a_signal_is_about_a_language_or_about_all(templates, language, paused):
    keep(templates, stored(), stored(language="pt_BR"))

    tell(templates, LATER, language=language, status="PAUSED")

    assert [one for one, status, _ in known(templates) if status == "PAUSED"] == paused


def test_a_template_that_nobody_asked_for_yet_is_left_to_who_asks(templates):
    tell(templates, NOW, status="PAUSED")

    assert known(templates) == []


def calls(templates, count, now=NOW, account=ACCOUNT):
    return [templates.take_call(account, now=now) for _ in range(count)]


def test_an_account_is_asked_200_times_in_any_hour(templates):
    assert all(calls(templates, 100))
    assert all(calls(templates, 100, LATER))

    assert calls(templates, 1, NOW + timedelta(minutes=59)) == [False]
    assert all(calls(templates, 100, NOW + timedelta(minutes=61)))
    assert calls(templates, 1, NOW + timedelta(minutes=61)) == [False]
    assert calls(templates, 1, account=OTHER_NUMBER) == [True]


def test_an_account_that_wants_rest_gets_it(templates):
    calls(templates, 1)
    templates.rest(ACCOUNT, until=LATER)
    templates.rest(ACCOUNT, until=NOW)

    assert calls(templates, 1, LATER - timedelta(seconds=1)) == [False]
    assert calls(templates, 1, LATER) == [True]


def test_two_askers_share_the_calls(templates, database_url):
    other = connect(database_url)
    try:
        second = type(templates)(other)
        taken = [one.take_call(ACCOUNT, now=NOW) for _ in range(101) for one in (templates, second)]
    finally:
        other.close()

    assert taken.count(True) == 200
