"""The check of a campaign's template against what Meta has, before the campaign exists."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from sluice.domain.clock import Clock
from sluice.domain.fit import misfits
from sluice.domain.graph import KnownTemplate, StoredTemplate, TemplatePage, Unavailable
from sluice.domain.problems import Problem
from sluice.domain.requests import CampaignRequest, Template

SYNC_EVERY: Final = timedelta(hours=1)
"""What the Graph API told is believed for so long; signals tell what changes meanwhile."""
PAGES_MAX: Final = 50
"""Of one account: ten thousand templates."""


class Templates(Protocol):
    """Templates as we know them, and the calls that we made for them."""

    def find(self, account_id: str, name: str) -> Sequence[KnownTemplate]:
        """Return those of a name."""

    def synced_at(self, account_id: str) -> datetime | None:
        """Return when all of the account's were read."""

    def take_call(self, account_id: str, *, now: datetime) -> bool:
        """Count a call; False: it must not be made now."""

    def rest(self, account_id: str, *, until: datetime) -> None:
        """Make no call before then."""

    def store(
        self,
        account_id: str,
        templates: Sequence[StoredTemplate],
        *,
        asked_at: datetime,
        name: str | None,
    ) -> None:
        """Keep all templates of the account, or all of one name."""


class GraphApi(Protocol):
    """Meta's templates."""

    def templates(
        self, account_id: str, *, name: str | None = None, after: str | None = None
    ) -> TemplatePage | Unavailable:
        """Return a page of an account's templates."""


@dataclass(frozen=True, slots=True)
class TemplateCheck:
    """Asks Meta as little as possible, and again by name before it says no."""

    mode: str
    """``required``, ``when_known`` or ``off``."""
    accounts: Callable[[], Mapping[str, str]]
    """By phone_number_id, every number that is configured."""
    templates: Templates
    graph_api: GraphApi
    clock: Clock

    def problems(self, request: CampaignRequest) -> list[Problem] | Unavailable:
        """Return everything that is wrong with the request's templates on its numbers."""
        if self.mode == "off":
            return []
        accounts = self.accounts()
        unknown = [number for number in request.numbers if number not in accounts]
        if unknown:
            return [Problem("numbers", f"{', '.join(unknown)}: not configured in this stage")]
        used = sorted({accounts[number] for number in request.numbers})
        problems: list[Problem] = []
        for path, template in request.templates.items():
            found = self.misfits(template, used, category=request.category)
            if isinstance(found, Unavailable):
                return found
            problems += [_at(path, problem) for problem in found]
        return problems

    def misfits(
        self, template: Template, accounts: Sequence[str], *, category: str
    ) -> list[Problem] | Unavailable:
        """Return what is wrong with one template on these accounts, each problem once."""
        told: dict[Problem, list[str]] = {}
        for account_id in accounts:
            problems = _Account(self, account_id, template, category).problems()
            if isinstance(problems, Unavailable):
                return problems
            for problem in problems:
                told.setdefault(problem, []).append(account_id)
        return [
            problem if len(where) == len(accounts) else _on(problem, where)
            for problem, where in told.items()
        ]


@dataclass(frozen=True, slots=True)
class _Account:
    """One account of the pool."""

    check: TemplateCheck
    account_id: str
    template: Template
    category: str

    def problems(self) -> list[Problem] | Unavailable:
        templates, since = self.check.templates, self.check.clock.now() - SYNC_EVERY
        known = templates.find(self.account_id, self.template.name)
        if known and all(one.synced_at is not None and one.synced_at > since for one in known):
            problems = self._misfits(known)
            # It may have been mended since.
            if not problems or self._ask(self.template.name) is not None:
                return problems
        else:
            synced_at = templates.synced_at(self.account_id)
            fresh = synced_at is not None and synced_at > since
            failure = self._ask(self.template.name if fresh else None)
            if failure is not None:
                lenient = self.check.mode == "when_known"
                return (self._misfits(known) if known else []) if lenient else failure
        return self._misfits(templates.find(self.account_id, self.template.name))

    def _misfits(self, known: Sequence[KnownTemplate]) -> list[Problem]:
        return misfits(
            self.template.model_dump(mode="json"),
            [one.template for one in known],
            category=self.category,
        )

    def _ask(self, name: str | None) -> Unavailable | None:
        """Read the account's templates, or those of one name, and keep them."""
        templates, asked_at = self.check.templates, self.check.clock.now()
        found: list[StoredTemplate] = []
        after: str | None = None
        for _ in range(PAGES_MAX):
            now = self.check.clock.now()
            if not templates.take_call(self.account_id, now=now):
                return Unavailable(f"no management call is left for account {self.account_id}")
            page = self.check.graph_api.templates(self.account_id, name=name, after=after)
            if page.rest_seconds:
                until = now + timedelta(seconds=page.rest_seconds)
                templates.rest(self.account_id, until=until)
            if isinstance(page, Unavailable):
                return page
            found += [one for one in page.templates if name in (None, one.name)]
            after = page.after
            if after is None:
                templates.store(self.account_id, found, asked_at=asked_at, name=name)
                return None
        return Unavailable(f"account {self.account_id} has too many templates")


def _at(path: str, problem: Problem) -> Problem:
    """The problem of a template, told of the one that stands at this path of the request."""
    if path == "template":
        return problem
    inside = problem.path.removeprefix("template")
    if inside != problem.path:
        return Problem(path + inside, problem.message)
    return Problem(path, f"{problem.path} {problem.message}")


def _on(problem: Problem, accounts: Sequence[str]) -> Problem:
    return Problem(problem.path, f"{problem.message} (account {', '.join(accounts)})")
