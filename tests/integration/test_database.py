"""The one connection: reopened when it is dead, and given up when the server stays away."""

import threading
import time
from itertools import count

import psycopg
import pytest

from local.processes import free_port
from sluice.adapters.postgres.access import CERTIFICATES, parameters_of
from sluice.adapters.postgres.connection import Database, DatabaseAwayError
from tests.conftest import connect

PID = "SELECT pg_backend_pid()"


def kill(url, pid):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 1000)", (pid,))


def test_nothing_is_opened_before_it_is_needed():
    asked = []

    Database(lambda: asked.append("parameters") or {})

    assert asked == []


def test_one_connection_serves_every_call(database):
    assert database.fetch(PID) == database.fetch(PID)


def test_a_connection_that_the_server_ended_is_opened_again(database, database_url):
    (before,) = database.fetch(PID)[0]
    kill(database_url, before)

    (after,) = database.fetch(PID)[0]

    assert after != before


def test_work_that_lost_its_connection_half_way_is_done_once(database, database_url):
    database.fetch("CREATE TABLE counted (n int)")
    tries = count(1)

    def work(connection):
        with connection.transaction():
            connection.execute("INSERT INTO counted VALUES (1)")
            if next(tries) == 1:
                kill(database_url, connection.info.backend_pid)
            connection.execute("INSERT INTO counted VALUES (1)")

    database.run(work)

    assert database.fetch("SELECT count(*) FROM counted") == [(2,)]


def test_the_parameters_are_asked_for_at_each_connect(database_url):
    asked = []
    parameters = parameters_of(database_url, with_iam=False, client=lambda _: None)

    def ask():
        asked.append(time.monotonic())
        return parameters()

    database = Database(ask)
    (pid,) = database.fetch(PID)[0]
    kill(database_url, pid)
    database.fetch(PID)
    database.close()

    assert len(asked) == 2


def test_a_server_that_stays_away_is_given_up_within_the_patience():
    database = connect(f"postgresql://sluice@127.0.0.1:{free_port()}/sluice")
    began = time.monotonic()

    with pytest.raises(DatabaseAwayError) as caught:
        database.fetch("SELECT 1", patience_seconds=0.3)

    assert time.monotonic() - began < 1.0
    assert isinstance(caught.value.__cause__, psycopg.OperationalError)


def test_a_server_that_comes_back_within_the_patience_is_used(postgres):
    name = "late"
    database = connect(postgres.url_of(name))
    later = threading.Timer(0.3, lambda: postgres.create_database(name))
    later.start()

    assert database.fetch("SELECT 1", patience_seconds=10.0) == [(1,)]

    later.join()
    database.close()


def test_a_deadlock_is_tried_again(database_url):
    one, other = connect(database_url), connect(database_url)
    one.fetch("CREATE TABLE place (id int PRIMARY KEY, visits int)")
    one.fetch("INSERT INTO place VALUES (1, 0), (2, 0)")
    both_began, tries = threading.Barrier(2, timeout=10), []
    errors = []

    def visit(database, first, second):
        mine = []

        def work(connection):
            mine.append(first)
            tries.append(first)
            with connection.transaction():
                connection.execute("SET LOCAL deadlock_timeout = '20ms'")
                connection.execute("UPDATE place SET visits = visits + 1 WHERE id = %s", (first,))
                if len(mine) == 1:
                    both_began.wait()
                connection.execute("UPDATE place SET visits = visits + 1 WHERE id = %s", (second,))

        try:
            database.run(work)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            errors.append(error)

    threads = [
        threading.Thread(target=visit, args=(one, 1, 2)),
        threading.Thread(target=visit, args=(other, 2, 1)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert len(tries) == 3, "one of them was chosen as the victim, once"
    assert one.fetch("SELECT visits FROM place ORDER BY id") == [(2,), (2,)]
    one.close()
    other.close()


def test_an_error_of_ours_is_raised_at_once(database):
    with pytest.raises(psycopg.errors.UndefinedTable):
        database.fetch("SELECT * FROM nothing_of_this_name")

    assert database.fetch("SELECT 1") == [(1,)]


def test_a_server_that_a_failover_made_read_only_is_left_for_the_new_writer(database):
    database.fetch("CREATE TABLE place (id int)")
    (before,) = database.fetch(PID)[0]
    database.fetch("SET default_transaction_read_only = on")

    database.fetch("INSERT INTO place VALUES (1)")

    assert database.fetch("SELECT id FROM place") == [(1,)]
    assert database.fetch(PID)[0] != (before,)


def test_a_closed_database_opens_again_when_it_is_asked(database):
    database.close()
    database.close()

    assert database.fetch("SELECT 1") == [(1,)]


def test_a_session_bounds_every_wait_and_counts_in_utc(database):
    settings = ("timezone", "lock_timeout", "statement_timeout", "application_name")

    assert [database.fetch(f"SHOW {name}")[0][0] for name in settings] == [
        "UTC",
        "10s",
        "1min",
        "sluice",
    ]


def test_a_url_says_how_to_sign_in_without_iam():
    url = "postgresql://user%40home:p%2Fw@db.example:6432/sluice"

    parameters = parameters_of(url, with_iam=False, client=lambda _: None)()

    assert parameters == {
        "host": "db.example",
        "port": 6432,
        "user": "user@home",
        "password": "p/w",
        "dbname": "sluice",
    }


def test_a_url_without_port_and_password_gives_none():
    parameters = parameters_of("postgresql://u@h/d", with_iam=False, client=lambda _: None)()

    assert parameters == {"host": "h", "port": 5432, "user": "u", "dbname": "d"}


class Rds:
    """Signs tokens that tell what they were made of."""

    def __init__(self):
        self.tokens = count(1)

    def generate_db_auth_token(self, *, DBHostname, Port, DBUsername):  # noqa: N803 - AWS names them
        return f"{DBUsername}@{DBHostname}:{Port} token {next(self.tokens)}"


def test_with_iam_each_connect_has_a_token_of_its_own_over_tls():
    rds, services = Rds(), []

    def client(service):
        services.append(service)
        return rds

    parameters = parameters_of("postgresql://sluice@h:5432/d", with_iam=True, client=client)
    assert services == [], "nothing is asked of AWS before it is needed"
    first, second = parameters(), parameters()

    assert (first["password"], second["password"]) == (
        "sluice@h:5432 token 1",
        "sluice@h:5432 token 2",
    )
    assert (first["sslmode"], first["sslrootcert"]) == ("verify-full", CERTIFICATES)
    assert set(services) == {"rds"}
