"""Audiences, secrets and configuration against the simulated AWS."""

import json
import traceback

import pytest
from aws_lambda_powertools.utilities.parameters.exceptions import TransformParameterError

from sluice.adapters.audience import Audiences
from sluice.adapters.parameters import Configuration, SecretInvalidError, Secrets
from tests.integration.simulated_aws import client

URI = "s3://audiences/people.csv"
MEBIBYTE = 1024 * 1024


@pytest.fixture
def audiences(aws):
    return Audiences(aws.client("s3"))


def lines_from(audiences, offset=0):
    return list(audiences.lines(URI, etag=audiences.etag(URI), offset=offset))


def test_lines_keep_their_ends_and_the_last_needs_none(aws, audiences):
    aws.put(URI, b"a\r\nb\n\nc")

    assert lines_from(audiences) == [b"a\r\n", b"b\n", b"\n", b"c"]


def test_lines_are_read_from_any_byte_on(aws, audiences):
    aws.put(URI, b"one\ntwo\nthree\n")

    assert lines_from(audiences, 4) == [b"two\n", b"three\n"]
    assert lines_from(audiences, 14) == [], "the end of the file"


def test_lines_across_the_pieces_of_the_stream_are_whole(aws, audiences):
    written = [b"%d,%s\n" % (number, b"x" * (number % 700)) for number in range(9_000)]
    content = b"".join(written)
    assert len(content) > 3 * MEBIBYTE
    aws.put(URI, content)

    assert lines_from(audiences) == written


def test_a_huge_file_without_line_ends_is_cut_and_nothing_is_lost(aws, audiences):
    content = bytes(range(11, 256)) * 20_000
    aws.put(URI, content)

    lines = lines_from(audiences)

    assert b"".join(lines) == content
    assert max(map(len, lines)) <= 2 * MEBIBYTE


def test_an_empty_file_has_no_lines(aws, audiences):
    aws.put(URI, b"")

    assert lines_from(audiences) == []


@pytest.mark.parametrize("offset", [0, 4])
def test_a_file_whose_content_changed_is_not_read_on(aws, audiences, offset):
    aws.put(URI, b"one\ntwo\n")
    etag = audiences.etag(URI)
    aws.put(URI, b"one\nother\n")

    assert audiences.lines(URI, etag=etag, offset=offset) is None


def test_a_file_that_went_away_is_not_read_on(aws, audiences):
    aws.put(URI, b"one\n")
    etag = audiences.etag(URI)
    aws.client("s3").delete_object(Bucket="audiences", Key="people.csv")

    assert audiences.lines(URI, etag=etag, offset=0) is None
    assert audiences.etag(URI) is None


@pytest.mark.parametrize("uri", ["s3://nobody/people.csv", "s3://audiences/nothing.csv"])
def test_a_file_that_is_not_there_has_no_etag(aws, audiences, uri):
    aws.put(URI, b"")

    assert audiences.etag(uri) is None


def test_a_key_may_have_any_characters(aws, audiences):
    uri = "s3://audiences/2026/ä file+1?.csv"
    aws.put(uri, b"a\n")

    assert list(audiences.lines(uri, etag=audiences.etag(uri), offset=0)) == [b"a\n"]


def secrets_of_aws():
    return Secrets(client("secretsmanager"))


def configuration_of_aws():
    return Configuration(client("ssm"))


@pytest.fixture
def secret(aws):
    """Writes the secret ``s``."""
    client = aws.client("secretsmanager")
    client.create_secret(Name="s", SecretString="{}")

    def write(value):
        text = value if isinstance(value, str) else json.dumps(value)
        client.put_secret_value(SecretId="s", SecretString=text)

    return write


def test_secrets_are_read_once_in_minutes(secret):
    secrets = secrets_of_aws()
    secret({"access_token": "first"})
    assert secrets.access_token("s") == "first"

    secret({"access_token": "second"})

    assert secrets.access_token("s") == "first"


def test_a_fresh_secret_is_read_at_most_every_thirty_seconds(secret, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("sluice.adapters.parameters.time.monotonic", lambda: now[0])
    secrets, read = secrets_of_aws(), []
    for number, seconds in enumerate([0.0, 1.0, 28.9, 0.2]):
        now[0] += seconds
        secret({"access_token": f"token-{number}"})
        read.append(secrets.access_token("s", fresh=True))

    assert read == ["token-0", "token-0", "token-0", "token-3"]


def test_what_was_read_afresh_is_remembered(secret):
    secrets = secrets_of_aws()
    secret({"access_token": "first"})
    secrets.access_token("s")
    secret({"access_token": "second"})

    assert secrets.access_token("s", fresh=True) == "second"
    assert secrets.access_token("s") == "second"


def test_the_webhook_has_one_or_two_app_secrets(secret):
    secret({"app_secrets": ["new", "", "old"], "verify_token": "token"})

    assert secrets_of_aws().webhook("s") == (["new", "old"], "token")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"token": "hush"}, "s has no access_token"),
        ({"access_token": "", "hush": 1}, "s has no access_token"),
        ({"access_token": "hush\n"}, "access_token of s is not ASCII text without spaces"),
        ({"access_token": "hush\u2026"}, "access_token of s is not ASCII text without spaces"),
        ({"access_token": ["hush"]}, "access_token of s is not ASCII text without spaces"),
        (["hush"], "s is not a JSON object"),
    ],
)
def test_a_missing_field_is_named_and_the_content_is_not_told(secret, value, named):
    secret(value)

    with pytest.raises(SecretInvalidError, match=named) as caught:
        secrets_of_aws().access_token("s")

    assert "hush" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"app_secrets": "hush", "verify_token": "x"}, "app_secrets of s is not a list"),
        ({"app_secrets": ["hush"]}, "s has no verify_token"),
        ({"verify_token": "hush"}, "s has no app_secrets"),
        (
            {"app_secrets": [True, "hush"], "verify_token": "x"},
            "one of app_secrets of s is not ASCII text without spaces",
        ),
        (
            {"app_secrets": ["hush"], "verify_token": "\ud800"},
            "verify_token of s is not ASCII text without spaces",
        ),
    ],
)
def test_a_webhook_secret_of_another_shape_is_named(secret, value, named):
    secret(value)

    with pytest.raises(SecretInvalidError, match=named) as caught:
        secrets_of_aws().webhook("s")

    assert "hush" not in "".join(traceback.format_exception(caught.value))


def test_a_secret_that_is_no_json_is_not_told(secret):
    secret("hush: this is no JSON")

    with pytest.raises(TransformParameterError) as caught:
        secrets_of_aws().access_token("s")

    assert "hush" not in "".join(traceback.format_exception(caught.value))


@pytest.fixture
def configure(aws):
    client = aws.client("ssm")

    def write(name, value):
        text = value if isinstance(value, str) else json.dumps(value)
        client.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)

    return write


def test_parameters_are_read_by_their_last_name_in_order(configure):
    for number in ("2", "1"):
        configure(f"/sluice/numbers/{number}", {"phone_number_id": number})
    configure("/sluice/numbers/deeper/3", {})
    configure("/sluice/routes/4", {})

    found = configuration_of_aws().under("/sluice/numbers")

    assert found == {"1": {"phone_number_id": "1"}, "2": {"phone_number_id": "2"}}
    assert list(found) == ["1", "2"]


def test_more_parameters_than_one_answer_holds_are_all_read(configure):
    for number in range(25):
        configure(f"/sluice/numbers/{number:02}", {"place": number})

    assert len(configuration_of_aws().under("/sluice/numbers")) == 25


def test_a_path_without_parameters_is_empty(configure):
    configure("/elsewhere/1", {})

    assert configuration_of_aws().under("/sluice/numbers") == {}


def test_a_parameter_that_is_no_json_raises_by_its_name(configure):
    configure("/sluice/numbers/good", {})
    configure("/sluice/numbers/broken", "{not JSON")

    with pytest.raises(Exception, match="broken"):
        configuration_of_aws().under("/sluice/numbers")
