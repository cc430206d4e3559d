"""The ports of the database, over one connection for each environment."""

from functools import cache
from typing import TYPE_CHECKING

from sluice import settings
from sluice.wiring.environment import (
    approval_above,
    frequency_cap,
    lane,
    phone_number_id,
    setting,
)
from sluice.wiring.machine import client

if TYPE_CHECKING:
    from sluice.adapters.journal import JournaledClaims
    from sluice.adapters.postgres.approvals import Approvals
    from sluice.adapters.postgres.audit import Audit
    from sluice.adapters.postgres.campaigns import Campaigns
    from sluice.adapters.postgres.connection import Database
    from sluice.adapters.postgres.conversations import Conversations
    from sluice.adapters.postgres.erasures import Erasures
    from sluice.adapters.postgres.exports import Exports
    from sluice.adapters.postgres.holdings import Holdings
    from sluice.adapters.postgres.limits import Limits
    from sluice.adapters.postgres.loads import Loads
    from sluice.adapters.postgres.media import Media
    from sluice.adapters.postgres.orders import Orders
    from sluice.adapters.postgres.picks import Picks
    from sluice.adapters.postgres.reconciliations import Reconciliations
    from sluice.adapters.postgres.reports import Reports
    from sluice.adapters.postgres.resends import Resends
    from sluice.adapters.postgres.restorations import Restorations
    from sluice.adapters.postgres.retention import Retention
    from sluice.adapters.postgres.saved_audiences import SavedAudiences
    from sluice.adapters.postgres.schedules import Schedules
    from sluice.adapters.postgres.signals import Signals
    from sluice.adapters.postgres.silences import Silences
    from sluice.adapters.postgres.stages import Stages
    from sluice.adapters.postgres.statuses import Statuses
    from sluice.adapters.postgres.stops import Stops
    from sluice.adapters.postgres.suppression_lists import SuppressionLists
    from sluice.adapters.postgres.suppressions import Suppressions
    from sluice.adapters.postgres.templates import Templates


@cache
def database() -> "Database":
    """Return the connection of this environment, opened at its first use."""
    from sluice.adapters.postgres.access import parameters_of
    from sluice.adapters.postgres.connection import Database

    url = setting(settings.DATABASE_URL)
    with_iam = setting(settings.DATABASE_IAM) == "true"
    return Database(parameters_of(url, with_iam=with_iam, client=client))


@cache
def approvals() -> "Approvals":
    """Return the campaigns that are held for an approval."""
    from sluice.adapters.postgres.approvals import Approvals

    return Approvals(database())


@cache
def audit() -> "Audit":
    """Return who did what."""
    from sluice.adapters.postgres.audit import Audit

    return Audit(database())


@cache
def campaigns() -> "Campaigns":
    """Return the published campaigns."""
    from sluice.adapters.postgres.campaigns import Campaigns

    return Campaigns(database())


@cache
def loads() -> "Loads":
    """Return the loading of audiences."""
    from sluice.adapters.postgres.loads import Loads

    return Loads(database(), approval_above=approval_above())


@cache
def exports() -> "Exports":
    """Return the exports of campaigns."""
    from sluice.adapters.postgres.exports import Exports

    return Exports(database())


@cache
def erasures() -> "Erasures":
    """Return the erasures of people."""
    from sluice.adapters.postgres.erasures import Erasures

    return Erasures(database())


@cache
def holdings() -> "Holdings":
    """Return what is kept of campaigns."""
    from sluice.adapters.postgres.holdings import Holdings

    return Holdings(database())


@cache
def restorations() -> "Restorations":
    """Return the restored backups."""
    from sluice.adapters.postgres.restorations import Restorations

    return Restorations(database())


@cache
def retention() -> "Retention":
    """Return what goes by its age."""
    from sluice.adapters.postgres.retention import Retention

    return Retention(database())


@cache
def media() -> "Media":
    """Return the uploads of header media."""
    from sluice.adapters.postgres.media import Media

    return Media(database())


@cache
def templates() -> "Templates":
    """Return the templates as Meta has them."""
    from sluice.adapters.postgres.templates import Templates

    return Templates(database())


@cache
def orders() -> "Orders":
    """Return the orders of people."""
    from sluice.adapters.postgres.orders import Orders

    return Orders(database())


@cache
def stops() -> "Stops":
    """Return the pauses."""
    from sluice.adapters.postgres.stops import Stops

    return Stops(database())


@cache
def picks() -> "Picks":
    """Return the dispatcher's side of the deliveries."""
    from sluice.adapters.postgres.picks import Picks

    return Picks(database())


@cache
def claims() -> "JournaledClaims":
    """Return the sender's side of the deliveries, each change of which is in its log too."""
    from aws_lambda_powertools import Logger

    from sluice.adapters.journal import JournaledClaims
    from sluice.adapters.postgres.claims import Claims

    number = phone_number_id()
    claims = Claims(database(), phone_number_id=number, lane=lane(), frequency_cap=frequency_cap())
    return JournaledClaims(claims, Logger(), phone_number_id=number)


@cache
def statuses() -> "Statuses":
    """Return where statuses are written."""
    from sluice.adapters.postgres.statuses import Statuses

    return Statuses(database())


@cache
def stages() -> "Stages":
    """Return the stages of campaigns."""
    from sluice.adapters.postgres.stages import Stages

    return Stages(database())


@cache
def signals() -> "Signals":
    """Return where signals are kept."""
    from sluice.adapters.postgres.signals import Signals

    return Signals(database())


@cache
def suppressions() -> "Suppressions":
    """Return who gets nothing, or no marketing."""
    from sluice.adapters.postgres.suppressions import Suppressions

    return Suppressions(database())


@cache
def conversations() -> "Conversations":
    """Return who talks with which number."""
    from sluice.adapters.postgres.conversations import Conversations

    return Conversations(database())


@cache
def limits() -> "Limits":
    """Return the daily limits of portfolios, and the contacts that count against them."""
    from sluice.adapters.postgres.limits import Limits

    return Limits(database())


@cache
def reconciliations() -> "Reconciliations":
    """Return the reconciler's statements."""
    from sluice.adapters.postgres.reconciliations import Reconciliations

    return Reconciliations(database())


@cache
def silences() -> "Silences":
    """Return the messages of which Meta says nothing more."""
    from sluice.adapters.postgres.silences import Silences

    return Silences(database())


@cache
def reports() -> "Reports":
    """Return what reports read."""
    from sluice.adapters.postgres.reports import Reports

    return Reports(database())


@cache
def resends() -> "Resends":
    """Return the orders to send again."""
    from sluice.adapters.postgres.resends import Resends

    return Resends(database())


@cache
def schedules() -> "Schedules":
    """Return the schedules of recurring campaigns."""
    from sluice.adapters.postgres.schedules import Schedules

    return Schedules(database())


@cache
def suppression_lists() -> "SuppressionLists":
    """Return the published lists of suppressions."""
    from sluice.adapters.postgres.suppression_lists import SuppressionLists

    return SuppressionLists(database())


@cache
def saved_audiences() -> "SavedAudiences":
    """Return the saved audiences."""
    from sluice.adapters.postgres.saved_audiences import SavedAudiences

    return SavedAudiences(database())
