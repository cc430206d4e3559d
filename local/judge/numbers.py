"""What each number did of what it may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from local.cloud_api.ledger import Request, fullest_window

BUSIEST_SECONDS: Final = 10.0


@dataclass(frozen=True)
class NumberUse:
    """What a number did of what it may do."""

    phone_number_id: str
    cap: int
    sends: int
    average_per_second: float
    busiest_per_second: float
    """Over the busiest ten seconds."""
    fullest_second: int
    """The most requests in any one-second window."""
    windows_over: int


def numbers_use(requests: Sequence[Request], caps: Mapping[str, int]) -> tuple[NumberUse, ...]:
    """Return the use of every number that has a cap."""
    return tuple(_use(requests, number, cap) for number, cap in sorted(caps.items()))


def _use(requests: Sequence[Request], number: str, cap: int) -> NumberUse:
    times = sorted(one.arrived for one in requests if one.phone_number_id == number)
    fullest, over = fullest_window(times, cap)
    seconds = times[-1] - times[0] if len(times) > 1 else 0.0
    return NumberUse(
        number,
        cap,
        len(times),
        round((len(times) - 1) / seconds, 2) if seconds else 0.0,
        round(_busiest(times), 2),
        fullest,
        over,
    )


def _busiest(times: Sequence[float]) -> float:
    most = first = 0
    for last, at in enumerate(times):
        while at - times[first] >= BUSIEST_SECONDS:
            first += 1
        most = max(most, last - first + 1)
    return most / BUSIEST_SECONDS
