"""Of real exceptions, what they would tell and what is told of them."""

import io
import json
import logging
import traceback

import duckdb
import psycopg
import pytest
import requests
from aws_lambda_powertools import Logger, Metrics
from botocore.exceptions import ClientError, ParamValidationError
from pydantic import ValidationError

from local.processes import free_port
from sluice import wiring
from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.telemetry import Telemetry
from sluice.domain.failures import FailedError, withheld
from sluice.domain.models.common import Person
from tests.conftest import connect

PHONE = "+4915155012345"


def raised(act):
    """What an act raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is
        act()
    return caught.value


def twice_the_same_key(database):
    database.fetch(f"CREATE TABLE told AS SELECT '{PHONE}'::text AS address")
    database.fetch("CREATE UNIQUE INDEX told_once ON told (address)")
    database.fetch("INSERT INTO told VALUES (%s)", (PHONE,))


def copy_that_breaks(database):
    def work(connection):
        connection.execute("CREATE TABLE copied (address text CHECK (address <> address))")
        with connection.cursor() as cursor, cursor.copy("COPY copied FROM STDIN") as copy:
            copy.write_row((PHONE,))

    database.run(work)


def wrong_kind(database):
    database.fetch("SELECT %s::text::int", (PHONE,))


def too_long(database):
    database.fetch("CREATE TABLE short (id int, address text CHECK (length(address) < 5))")
    database.fetch("INSERT INTO short VALUES (1, %s)", (PHONE,))


@pytest.mark.parametrize(
    ("act", "kept"),
    [
        (twice_the_same_key, "23505 duplicate key value violates unique constraint"),
        (copy_that_breaks, "23514 new row for relation"),
        (wrong_kind, "22003"),
        (too_long, "23514 new row for relation"),
    ],
)
def test_an_error_of_postgres_is_told_without_its_row(database, postgres, act, kept):
    error = raised(lambda: act(database))
    assert PHONE in str(error)

    told = "".join(traceback.format_exception(withheld(error)))

    assert isinstance(error, psycopg.Error)
    assert kept in told
    assert f"in {act.__name__}" in told
    assert PHONE not in told


def test_the_log_of_postgres_tells_no_row(database, postgres):
    before = postgres.process.log.stat().st_size

    for act in (twice_the_same_key, copy_that_breaks, too_long):
        raised(lambda act=act: act(database))

    told = postgres.process.log.read_text()[before:]
    assert told.count("ERROR:") == 3
    # What a test itself writes into a statement is not a row.
    assert PHONE not in told.replace(f"SELECT '{PHONE}'", "")


def test_a_database_that_is_away_is_told_with_its_reason():
    port = free_port()
    away = connect(f"postgresql://sluice@127.0.0.1:{port}/sluice")

    told = str(withheld(raised(lambda: away.fetch("SELECT 1", patience_seconds=0))))

    assert told.startswith("sluice.adapters.postgres.connection.DatabaseAwayError")
    assert f"port {port}" in told


def test_the_errors_of_libraries_are_told_without_what_they_repeat(tmp_path, aws):
    file = tmp_path / "part.csv"
    file.write_text(f"seq\n{PHONE}x\n")
    query = (
        f"SELECT * FROM read_csv('{file}', auto_detect = false, header = true,"
        " columns = {'seq': 'INTEGER'})"
    )
    queue = aws.client("sqs")
    session = requests.Session()
    acts = {
        duckdb.ConversionException: lambda: duckdb.sql(query).fetchall(),
        ParamValidationError: lambda: queue.send_message(QueueUrl="x", MessageBody=[PHONE]),
        requests.exceptions.InvalidHeader: lambda: session.get(
            "http://127.0.0.1", headers={"Authorization": f"{PHONE}\n"}
        ),
        ValueError: lambda: int(PHONE + "x"),
        KeyError: lambda: {}[PHONE],
    }

    for kind, act in acts.items():
        error = raised(act)
        assert isinstance(error, kind)
        assert PHONE in str(error)
        assert PHONE not in "".join(traceback.format_exception(withheld(error)))
        assert type(error).__name__ in str(withheld(error))


def test_a_model_never_tells_its_input():
    error = raised(lambda: Person.model_validate_json(json.dumps({"mobile": PHONE})))

    assert isinstance(error, ValidationError)
    assert PHONE not in str(error)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("AccessDenied", "x.ClientError: AccessDenied of Publish it is said"),
        ("InvalidParameterValue", "x.ClientError: InvalidParameterValue of Publish"),
    ],
)
def test_of_an_error_of_aws_rights_are_told_and_values_are_not(code, told):
    error = ClientError({"Error": {"Code": code, "Message": "it is said"}}, "Publish")

    assert str(withheld(error)) == told.replace("x.", "botocore.exceptions.")


def test_causes_are_told_and_their_words_are_not():
    def act():
        try:
            int(PHONE + "x")
        except ValueError as error:
            raise DatabaseAwayError("gone") from error

    told = withheld(raised(act))

    assert str(told).endswith("DatabaseAwayError: gone; because of ValueError")
    assert PHONE not in "".join(traceback.format_exception(told))


def test_a_handler_that_fails_tells_lambda_its_kind_and_place_only():
    @wiring.discreet
    def lambda_handler(event, _context):
        return int(event["address"])

    error = raised(lambda: lambda_handler({"address": PHONE + "x"}, None))

    told = "".join(traceback.format_exception(error))
    assert isinstance(error, FailedError)
    assert type(error).__name__ == "ValueError"
    assert "in lambda_handler" in told
    assert PHONE not in told
    assert lambda_handler({"address": "5"}, None) == 5


def test_a_failure_that_is_logged_tells_no_words(database):
    log = io.StringIO()
    logger = Logger(service="failures", stream=log, level=logging.INFO)
    telemetry = Telemetry(logger, Metrics(namespace="Sluice", service="failures"))

    telemetry.fail("not written", raised(lambda: twice_the_same_key(database)))

    line = json.loads(log.getvalue())
    assert line["exception_name"] == "UniqueViolation"
    assert "told_once" in line["exception"]
    assert PHONE not in log.getvalue()
