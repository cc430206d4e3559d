"""`python -m local.cloud_api --port P --config FILE.json --ledger FILE.sqlite`."""

import argparse
import asyncio
import contextlib
import gc
import os
import signal
import time
from pathlib import Path
from typing import Final

from aiohttp import web

from local.cloud_api.config import Config, read_config
from local.cloud_api.control import Control
from local.cloud_api.engine import Engine
from local.cloud_api.management import Management
from local.cloud_api.outbox import Outbox
from local.cloud_api.recorder import Recorder
from local.cloud_api.replies import Replies
from local.cloud_api.server import CloudApi

_CLOCK_CHECK_SECONDS: Final = 0.02
_SHUTDOWN_SECONDS: Final = 3.0


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m local.cloud_api", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--config", type=Path, help="JSON; every key has a default")
    parser.add_argument("--ledger", type=Path, required=True, help="SQLite; continued if it exists")
    arguments = parser.parse_args()
    config = read_config(arguments.config) if arguments.config else Config()
    _be_on_time()
    asyncio.run(serve(config, arguments.ledger, arguments.port))


async def serve(config: Config, ledger: Path, port: int) -> None:
    """Serve on 127.0.0.1 until a signal; prints `ready <url>` when requests are taken."""
    recorder = Recorder(ledger)
    management = Management(config)
    engine, outbox = Engine(config, knows_media=management.knows), Outbox(config, recorder)
    replies = Replies(engine=engine, outbox=outbox, recorder=recorder)
    control = Control(
        engine=engine, recorder=recorder, outbox=outbox, replies=replies, management=management
    )
    api = CloudApi(
        engine=engine,
        recorder=recorder,
        outbox=outbox,
        replies=replies,
        control=control,
        management=management,
    )
    runner = web.ServerRunner(
        web.Server(api.handle, access_log=None), shutdown_timeout=_SHUTDOWN_SECONDS
    )
    stop = _stop_signal()
    await runner.setup()
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(part)
                for part in (recorder.run(), outbox.run(), _watch_clock(recorder, control))
            ]
            await web.TCPSite(runner, "127.0.0.1", port).start()
            print(f"ready http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
            await stop.wait()
            # Requests in flight are answered while the ledger still commits.
            await runner.cleanup()
            for task in running:
                task.cancel()
    finally:
        await runner.cleanup()
        await recorder.close()


def _stop_signal() -> asyncio.Event:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


async def _watch_clock(recorder: Recorder, control: Control) -> None:
    """Measure how late this process reads its clock: that is the error of every arrival."""
    while True:
        expected = time.monotonic() + _CLOCK_CHECK_SECONDS
        await asyncio.sleep(_CLOCK_CHECK_SECONDS)
        now = time.monotonic()
        recorder.stall(now, now - expected)
        control.clock_late_seconds_max = max(control.clock_late_seconds_max, now - expected)


def _be_on_time() -> None:
    """The clock of this process judges the rate of others, so it goes before them if it may."""
    with contextlib.suppress(PermissionError):
        os.nice(-5)
    # A full collection with many statuses waiting would stop the clock for tens of milliseconds.
    gc.freeze()
    gc.set_threshold(50_000, 20, 1_000)


if __name__ == "__main__":
    main()
