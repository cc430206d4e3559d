"""campaign.handle and the media of headers: with Meta before a row may leave, once a number."""

import json
from datetime import timedelta

import pytest

from sluice.adapters.media import MediaFiles
from sluice.domain.graph import Declined, Unavailable
from sluice.domain.requests import parse
from tests.conftest import NOW, NUMBER, OTHER_NUMBER
from tests.integration.functions.ports import event_of, failed, reasons

URI = "s3://audiences/clinic.png"
PNG = b"\x89PNG and so on"
DAY = 86_400


class Graph:
    """The Graph API, whose uploads are counted, and may be answered otherwise."""

    def __init__(self, graph_api):
        self.graph_api, self.uploaded, self.answers = graph_api, [], []
        self.before = lambda: None
        self.templates = graph_api.templates

    def upload(self, phone_number_id, content, **more):
        self.before()
        self.uploaded.append(phone_number_id)
        if self.answers:
            return self.answers.pop(0)
        return self.graph_api.upload(phone_number_id, content, **more)


@pytest.fixture
def uploads(graph_api):
    return Graph(graph_api)


@pytest.fixture
def publish(campaign, load_event, uploads):
    def run(*, name=None, **more):
        event = load_event("campaign/media")
        if name is not None:
            body = json.loads(event["Records"][0]["body"]) | {"campaign": name}
            event = event_of(body, kind="campaign")
        return campaign.run(event, graph_api=uploads, **more)

    return run


def stored(world):
    return world.database.fetch(
        "SELECT phone_number_id, s3_uri, media_id FROM media ORDER BY 1, uploaded_at"
    )


def loaded(world):
    return world.database.fetch("SELECT campaign FROM campaign WHERE loaded_at IS NOT NULL")


def test_a_file_is_uploaded_once_for_each_number_and_the_campaign_is_loaded(publish, world, graph):
    assert not failed(publish())

    (first, second) = graph.ask("uploads")["uploads"][-2:]
    assert stored(world) == [(NUMBER, URI, first["id"]), (OTHER_NUMBER, URI, second["id"])]
    assert (first["file_type"], first["bytes"]) == ("image/png", len(PNG))
    assert loaded(world) == [("opening-2026-12",)]


def test_published_twice_it_is_uploaded_once(publish, uploads):
    publish()
    publish()

    assert uploads.uploaded == [NUMBER, OTHER_NUMBER]


def test_another_campaign_with_the_same_file_uploads_nothing(publish, uploads, world):
    publish()
    publish(name="another")

    assert uploads.uploaded == [NUMBER, OTHER_NUMBER]
    assert len(loaded(world)) == 2


def test_a_file_that_changed_is_another_file(publish, aws, uploads, world):
    publish()
    aws.put(URI, PNG + b"!")

    publish(name="another")

    assert len(uploads.uploaded) == 4
    assert world.media.ids("another", since=NOW - timedelta(days=1)) != world.media.ids(
        "opening-2026-12", since=NOW - timedelta(days=1)
    )


def test_who_died_between_an_upload_and_its_record_uploads_again(publish, world, uploads):
    class Dying:
        missing = world.media.missing

        def store(self, *_, **__):
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - our own
        publish(uploads=Dying())
    assert loaded(world) == []

    assert not failed(publish())

    assert uploads.uploaded == [NUMBER, NUMBER, OTHER_NUMBER]
    assert len(stored(world)) == 2


@pytest.mark.parametrize(("days", "times"), [(24, 2), (26, 4)])
def test_an_upload_is_renewed_for_a_campaign_after_25_days(publish, clock, uploads, days, times):
    publish()
    clock.advance(days * DAY)

    publish(name="another")

    assert len(uploads.uploaded) == times


def test_a_campaign_that_is_published_again_renews_what_meta_will_forget(
    publish, clock, uploads, world
):
    publish()
    before = stored(world)
    clock.advance(26 * DAY)

    assert not failed(publish())

    assert len(uploads.uploaded) == 4
    assert len(stored(world)) == 2
    assert stored(world) != before


def test_a_file_that_is_not_what_it_was_is_not_renewed(publish, aws, clock, uploads):
    publish()
    aws.put(URI, PNG + b"!")
    clock.advance(26 * DAY)

    publish()

    assert reasons(aws) == [f"template.header: {URI} is not what it was"]
    assert len(uploads.uploaded) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, f"template.header: there is no such file, or it may not be read: {URI}"),
        (b"", f"template.header: the image is empty: {URI}"),
        (b"x" * (5 * 1024 * 1024 + 1), f"template.header: the image has more than 5 MB: {URI}"),
    ],
)
def test_a_file_that_meta_would_not_take_refuses_the_campaign(
    publish, aws, world, uploads, content, reason
):
    if content is None:
        aws.client("s3").delete_object(Bucket="audiences", Key="clinic.png")
    else:
        aws.put(URI, content)

    assert not failed(publish())

    assert reasons(aws) == [reason]
    assert (loaded(world), uploads.uploaded) == ([], [])


def test_what_is_wrong_with_the_template_and_with_its_file_is_told_together(
    publish, aws, graph, uploads
):
    graph.tell("config", templates=[])
    aws.put(URI, b"")

    publish()

    assert [one.partition(":")[0] for one in reasons(aws)] == ["template", "template.header"]
    assert uploads.uploaded == []


def test_a_file_that_meta_declines_refuses_the_campaign(publish, aws, world, uploads):
    uploads.answers = [Declined("131053 corrupt")]

    publish()

    assert reasons(aws) == [f"template.header: Meta does not take {URI}: 131053 corrupt"]
    assert loaded(world) == []


def test_while_nothing_can_be_uploaded_the_campaign_waits_then_it_is_refused(
    publish, aws, world, uploads
):
    uploads.answers = [Unavailable("HTTP 502")] * 2

    assert failed(publish())
    assert not failed(publish(receives=9))

    assert reasons(aws) == ["Meta could not be asked: HTTP 502"]
    assert world.database.fetch("SELECT count(*) FROM campaign") == [(0,)]


def test_uploads_that_take_too_long_go_on_where_they_ended(publish, clock, uploads, world):
    uploads.before = lambda: clock.advance(900)

    assert failed(publish())
    assert uploads.uploaded == [NUMBER]
    assert failed(publish())
    assert not failed(publish())

    assert uploads.uploaded == [NUMBER, OTHER_NUMBER]
    assert len(loaded(world)) == 1


def test_a_file_that_changes_while_it_is_opened_is_looked_at_again(publish, aws, uploads):
    class Changing(MediaFiles):
        def open(self, file):
            aws.put(URI, PNG + b"!")
            return super().open(file)

    assert failed(publish(files=Changing(aws.client("s3"))))
    assert uploads.uploaded == []


def test_a_send_to_a_number_s_queue_names_no_files(load_event):
    template = json.loads(load_event("campaign/media")["Records"][0]["body"])["template"]
    request = {
        "id": "a",
        "phone_number_id": NUMBER,
        "recipients": [{"address": "+12025550101"}],
        "template": template,
    }

    (problem,) = parse(json.dumps(request), {"kind": "send"})
    assert "uploaded for campaigns only" in problem.message
