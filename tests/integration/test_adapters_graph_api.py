"""The Graph API's client against the simulated API, and against servers that misbehave."""

import io
import json
import time

import pytest
import requests

from sluice.adapters.graph_api import GraphApi
from sluice.domain.graph import Declined, TemplatePage, Unavailable, Uploaded
from tests.conftest import NUMBER, OTHER_NUMBER
from tests.integration.http_servers import answer
from tests.templates import listed

ACCOUNT = "102290129340398"
TOKEN = "local-access-token"
PNG = "image/png"


def client(url, *, token=lambda **_: TOKEN):
    return GraphApi(url=url, token=token)


@pytest.fixture
def api(graph):
    return client(f"{graph.url}/v25.0")


class Counted(io.BytesIO):
    """A file that remembers how much of it was asked for at once."""

    largest = 0

    def read(self, size=-1, /):
        self.largest = max(self.largest, size)
        assert size > 0, "never the whole"
        return super().read(size)


def upload(api, content, *, number=NUMBER, media_type=PNG):
    return api.upload(number, content, size_bytes=len(content.getvalue()), media_type=media_type)


def test_all_templates_of_an_account_come_page_by_page(graph, api):
    graph.tell("config", templates=[listed(name=f"number_{one}") for one in range(450)])
    names, after, pages = [], None, 0

    while pages == 0 or after is not None:
        page = api.templates(ACCOUNT, after=after)
        assert isinstance(page, TemplatePage)
        names += [one.name for one in page.templates]
        after, pages = page.after, pages + 1

    assert (len(set(names)), len(names), pages) == (450, 450, 3)


def test_the_templates_of_a_name_come_alone_with_all_that_is_asked(graph, api):
    graph.tell("config", templates=[listed(), listed(name="another"), listed(language="pt_BR")])

    page = api.templates(ACCOUNT, name="reminder")

    assert [one.language for one in page.templates] == ["en_US", "pt_BR"]
    first = page.templates[0]
    assert (first.status, first.category, first.quality) == ("APPROVED", "UTILITY", "GREEN")
    assert first.parameter_format == "POSITIONAL"
    assert first.components == tuple(listed()["components"])


def test_another_accounts_templates_are_not_told(graph, api):
    graph.tell("config", templates=[listed(account_id="7")])

    assert api.templates(ACCOUNT).templates == ()
    assert len(api.templates("7").templates) == 1


@pytest.mark.parametrize("code", [2, 10, 200, 100])
def test_an_account_that_may_not_be_asked_is_no_answer(graph, api, code):
    graph.tell("config", management_code=code)

    assert api.templates(ACCOUNT) == Unavailable(f"{code} As the script says.")


def test_too_many_calls_are_answered_by_how_long_to_rest(graph, api):
    graph.tell("config", management_calls_per_hour=1)
    api.templates("a-new-account")

    refused = api.templates("a-new-account")

    assert refused == Unavailable("80008 There have been too many calls to this account.", 420.0)


def test_a_rotated_token_is_read_again_and_asked_with_once(graph):
    asked = []

    def token(*, fresh):
        asked.append(fresh)
        return TOKEN if any(asked) else "old"

    page = client(f"{graph.url}/v25.0", token=token).templates(ACCOUNT)

    assert isinstance(page, TemplatePage)
    assert page.templates


def test_a_token_that_is_refused_for_good_is_no_answer(graph):
    refused = client(f"{graph.url}/v25.0", token=lambda **_: "old").templates(ACCOUNT)

    assert isinstance(refused, Unavailable)
    assert refused.reason.startswith("190 ")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer(b"<html>", 502), "HTTP 502"),
        (answer(b"moved", 302, "Location: http://127.0.0.1:1/"), "HTTP 302"),
        (answer({"data": 7}), "the answer is no list of templates"),
        (None, "ConnectionError"),
    ],
)
def test_a_server_that_misbehaves_is_no_answer(serve, reply, reason):
    api = client(serve(lambda *_: reply).url)

    assert api.templates(ACCOUNT) == Unavailable(reason)


def test_nobody_there_and_no_word_in_time_are_no_answers(serve, monkeypatch):
    monkeypatch.setattr("sluice.adapters.graph_api.ASK_TIMEOUT_SECONDS", 0.2)

    def reply(_request, _number):
        time.sleep(0.5)

    assert client("http://127.0.0.1:1/v25.0").templates(ACCOUNT) == Unavailable("ConnectionError")
    assert client(serve(reply).url).templates(ACCOUNT) == Unavailable("ReadTimeout")


def test_the_next_page_is_asked_for_by_its_cursor_never_by_the_address_that_is_told(serve):
    paging = {"cursors": {"after": "x&y"}, "next": "http://127.0.0.1:1/?access_token=secret"}
    server = serve(lambda *_: answer({"data": [], "paging": paging}))

    page = client(server.url).templates(ACCOUNT, after="x&y")

    assert page == TemplatePage((), "x&y")
    assert b"after=x%26y" in server.requests[0]
    assert b"Authorization: Bearer " in server.requests[0]
    assert b"access_token" not in server.requests[0]


def test_a_file_arrives_whole_and_is_never_whole_in_memory(graph, api):
    content = Counted(b"\x89PNG\r\n--boundary\r\n" * 400_000)

    uploaded = upload(api, content)

    (*_, kept) = graph.ask("uploads")["uploads"]
    assert isinstance(uploaded, Uploaded)
    assert kept == {
        "phone_number_id": NUMBER,
        "id": uploaded.media_id,
        "messaging_product": "whatsapp",
        "type": PNG,
        "file_type": PNG,
        "bytes": 7_200_000,
    }
    assert content.largest <= 2**20


def test_an_empty_file_is_declined_and_a_stranger_number_too(api):
    assert upload(api, Counted(b"")) == Declined("131053 The file is empty.")
    assert isinstance(upload(api, Counted(b"x"), number="7"), Declined)


@pytest.mark.parametrize("code", [2, 190, 131000])
def test_an_upload_that_is_refused_may_be_tried_again(graph, api, code):
    graph.tell("config", management_code=code)

    assert isinstance(upload(api, Counted(b"x")), Unavailable)


def test_after_an_expired_token_the_next_upload_takes_the_new_one(graph):
    tokens = {"now": "old"}

    def token(*, fresh):
        tokens["now"] = TOKEN if fresh else tokens["now"]
        return tokens["now"]

    api = client(f"{graph.url}/v25.0", token=token)

    assert isinstance(upload(api, Counted(b"x")), Unavailable)
    assert isinstance(upload(api, Counted(b"x")), Uploaded)


@pytest.mark.parametrize("reply", [answer({}), answer(b"<html>", 502), None])
def test_an_upload_without_an_id_is_no_upload(serve, reply):
    api = client(serve(lambda *_: reply).url)

    assert isinstance(upload(api, Counted(b"x" * 10)), Unavailable)


@pytest.mark.parametrize(
    ("number", "media_id", "status"),
    [(NUMBER, None, 200), (OTHER_NUMBER, None, 400), (NUMBER, "17", 400)],
)
def test_an_id_is_good_for_the_number_that_uploaded_it(graph, api, number, media_id, status):
    media_id = media_id or upload(api, Counted(b"x")).media_id
    image = {"type": "image", "image": {"id": media_id}}
    template = {
        "name": "clinic_opening",
        "language": {"code": "en_US"},
        "components": [{"type": "header", "parameters": [image]}],
    }

    sent = requests.post(
        f"{graph.url}/v25.0/{number}/messages",
        headers={"Authorization": f"Bearer {TOKEN}"},
        json={
            "messaging_product": "whatsapp",
            "to": "+4915100000000",
            "type": "template",
            "template": template,
        },
        timeout=10,
    )

    assert sent.status_code == status
    if status != 200:
        assert json.loads(sent.content)["error"]["code"] == 131009
