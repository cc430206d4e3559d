"""Work on a batch together and, where that fails, in halves: one bad item holds no other."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


def in_halves(
    items: Sequence[Item],
    work: Callable[[Sequence[Item]], Done],
    *,
    fatal: type[Exception],
) -> tuple[list[Done], list[tuple[Item, Exception]]]:
    """Return what came of the parts that could be done, and the items that could not.

    A part is tried whole before its halves, so ``work`` may see an item several times. A ``fatal``
    error, that no splitting helps, passes through.
    """
    if not items:
        return [], []
    try:
        return [work(items)], []
    except fatal:
        raise
    except Exception as error:  # noqa: BLE001 - reported by item; the others go on
        if len(items) == 1:
            return [], [(items[0], error)]
    done: list[Done] = []
    failed: list[tuple[Item, Exception]] = []
    for half in (items[: len(items) // 2], items[len(items) // 2 :]):
        more, worse = in_halves(half, work, fatal=fatal)
        done += more
        failed += worse
    return done, failed
