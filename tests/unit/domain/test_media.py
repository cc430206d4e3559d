"""Files of a header: which a template names, and which Meta takes."""

import pytest

from sluice.domain.media import (
    MEBIBYTE,
    MediaFile,
    MediaRef,
    media_of,
    misnamed_media,
    with_media,
)
from tests.templates import body, header, message

URI = "s3://audiences/media/clinic.png"
OTHER = "s3://audiences/media/plan.pdf"
CARDS = {
    "type": "carousel",
    "cards": [{"components": [header("image", {"s3": URI}), body("a")]} for _ in range(2)],
}


def flaws(kind, uri=URI, *, size=1, told="binary/octet-stream"):
    ref = MediaRef(uri, kind)
    return [one.message for one in ref.flaws(MediaFile(uri, '"e"', size, told))]


def test_files_are_found_in_headers_and_cards_each_once():
    document = header("document", {"s3": OTHER, "filename": "plan.pdf"})

    assert media_of(message(document, CARDS)) == (
        MediaRef(URI, "image"),
        MediaRef(OTHER, "document"),
    )


@pytest.mark.parametrize(
    "wanted",
    [
        header("image", {"s3": URI}),
        header("image", {"id": "1"}),
        header("image", {"link": "https://example.org/{{picture}}.png"}),
        CARDS,
        body("s3"),
    ],
)
def test_a_file_of_a_header_is_named_well(wanted):
    assert misnamed_media(message(wanted)) is None


@pytest.mark.parametrize(
    "wanted",
    [
        header("image", {"s3": "https://example.org/a.png"}),
        header("image", {"s3": "s3://audiences/{{picture}}.png"}),
        header("image", {"s3": 7}),
        header("image", {"s3": URI, "id": "1"}),
        header("audio", {"s3": URI}),
        {"type": "body", "parameters": [{"type": "image", "image": {"s3": URI}}]},
        header("image", {"link": {"s3": URI}}),
    ],
)
def test_a_file_anywhere_else_or_named_otherwise_is_refused(wanted):
    assert misnamed_media(message(wanted)) is not None


def test_an_id_stands_where_the_file_was_and_the_rest_stays():
    document = header("document", {"s3": OTHER, "filename": "plan.pdf"})

    made = with_media(message(document, CARDS, body("{{name}}")), {OTHER: "17"})

    assert made["components"][0] == header("document", {"id": "17", "filename": "plan.pdf"})
    assert made["components"][1:] == [CARDS, body("{{name}}")]


@pytest.mark.parametrize(
    ("kind", "megabytes", "uri"), [("image", 5, URI), ("video", 16, "s3://b-b/a.mp4"),
                                   ("document", 100, OTHER)]
)  # fmt: skip
def test_a_file_may_be_as_large_as_its_kind_and_not_a_byte_more(kind, megabytes, uri):
    assert flaws(kind, uri, size=megabytes * MEBIBYTE) == []
    assert flaws(kind, uri, size=megabytes * MEBIBYTE + 1) == [
        f"the {kind} has more than {megabytes} MB: {uri}"
    ]


def test_an_empty_file_is_refused():
    assert flaws("image", size=0) == [f"the image is empty: {URI}"]


@pytest.mark.parametrize(
    ("kind", "uri", "told", "taken"),
    [
        ("image", "s3://b-b/a.JPG", "", True),
        ("image", "s3://b-b/a.webp", "image/webp", False),
        ("image", "s3://b-b/a.png", "image/gif", False),
        ("image", "s3://b-b/a", "image/jpeg; charset=x", True),
        ("image", "s3://b-b/a", "application/octet-stream", False),
        ("video", "s3://b-b/a.png", "image/png", False),
    ],
)
def test_a_type_is_what_the_uploader_told_else_what_the_name_ends_with(kind, uri, told, taken):
    assert (flaws(kind, uri, told=told) == []) is taken
