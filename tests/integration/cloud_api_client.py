"""A client of the Cloud API for tests, and shorthands for what they do with it."""

import time

from sluice.adapters.cloud_api import CloudApi
from tests.conftest import NUMBER

TOKEN = "local-access-token"
MODULE = "sluice.adapters.cloud_api"
BODY = {"messaging_product": "whatsapp", "to": "+4915100000001", "type": "text"}


def client(url, *, threads=4, token=lambda **_: TOKEN):
    return CloudApi(url=url, phone_number_id=NUMBER, token=token, threads=threads)


def post(api, *, times=1, **changes):
    """The outcomes of as many requests, in the order of their names."""
    api.prepare()
    for name in range(times):
        api.start(name, BODY | changes, due_at=0.0)
    return [outcome for _, outcome in sorted(take_all(api))]


def take_all(api):
    taken, deadline = [], time.monotonic() + 10
    while api.in_flight:
        assert time.monotonic() < deadline, "no outcome"
        taken += api.take(timeout_seconds=0.2)
    return taken
