"""What the Graph API answers, read without surprises."""

import json

import pytest

from sluice.domain.graph import (
    Declined,
    TemplatePage,
    Unavailable,
    page_of,
    refusal_of,
    rest_seconds_of,
    template_of,
)
from tests.templates import listed


def page(**document):
    return page_of(json.dumps(document).encode(), rest_seconds=0.0)


def usage(**more):
    row = {"type": "whatsapp_business_management", "call_count": 1, "total_time": 1} | more
    return {"X-Business-Use-Case-Usage": json.dumps({"102290129340398": [row]})}


def refusal(code, **more):
    error = {"code": code, "message": "No.", **more}
    return refusal_of(400, json.dumps({"error": error}).encode(), rest_seconds=0.0)


def test_a_page_says_where_the_next_begins():
    found = page(data=[listed()], paging={"cursors": {"after": "QVFI"}, "next": "https://…"})

    assert isinstance(found, TemplatePage)
    assert ([one.name for one in found.templates], found.after) == (["reminder"], "QVFI")


@pytest.mark.parametrize("paging", [{}, {"cursors": {"after": "QVFI"}}, None, {"next": "x"}])
def test_without_a_next_page_it_was_the_last(paging):
    assert page(data=[], paging=paging) == TemplatePage((), None)


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"data": {}}'])
def test_an_answer_of_another_shape_is_no_answer(content):
    assert isinstance(page_of(content, rest_seconds=0.0), Unavailable)


def test_what_is_no_template_is_left_out():
    found = page(data=[7, {"name": "x"}, listed(components="x", status=None, quality_score="x")])

    (template,) = found.templates
    assert (template.components, template.status, template.quality) == ((), "", "")


def test_a_language_is_kept_with_an_underscore():
    template = template_of(listed(language="pt-BR"))

    assert template is not None
    assert template.language == "pt_BR"


@pytest.mark.parametrize("code", [100, 131009, 131053])
def test_what_is_wrong_with_a_file_stays_wrong(code):
    assert refusal(code) == Declined(f"{code} No.")


@pytest.mark.parametrize("code", [1, 2, 4, 10, 190, 200, 80008, 424242])
def test_everything_else_may_pass(code):
    assert isinstance(refusal(code), Unavailable)


def test_an_error_without_a_code_is_told_by_its_status():
    assert refusal_of(502, b"<html>", rest_seconds=1.0) == Unavailable("HTTP 502", 1.0)


def test_an_account_is_left_alone_as_long_as_meta_says():
    assert rest_seconds_of(usage(estimated_time_to_regain_access=7)) == 420.0


@pytest.mark.parametrize(("share", "seconds"), [(94, 0.0), (95, 300.0), (100, 300.0)])
def test_the_last_calls_of_an_hour_are_left_to_others(share, seconds):
    assert rest_seconds_of(usage(call_count=share)) == seconds


@pytest.mark.parametrize("headers", [{}, {"x-business-use-case-usage": "x"}, {"X-App-Usage": "{}"}])
def test_no_usage_is_no_limit(headers):
    assert rest_seconds_of(headers) == 0.0
