"""Makes the alarms of the table, and the composites that keep one cause from ringing many times."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.observability.rows import RUNBOOK, Row, Watched
from infra.observability.table import (
    DATABASE_AWAY,
    DATABASE_AWAY_MEANING,
    DATABASE_AWAY_SIGNS,
    TABLE,
)

SUPPRESSED_FOR: Final = Duration.minutes(5)
"""After the database is back: what follows from its absence needs as long to end."""
SUPPRESSOR_AWAITED: Final = Duration.minutes(3)
"""A cause and what follows from it do not ring at the same moment."""
_MISSING: Final = {
    "notBreaching": cloudwatch.TreatMissingData.NOT_BREACHING,
    "breaching": cloudwatch.TreatMissingData.BREACHING,
    "missing": cloudwatch.TreatMissingData.MISSING,
}

Made = dict[str, list[cloudwatch.Alarm]]


class Alarms(Construct):
    """The alarms of one stack: of what all numbers share, or of the numbers of a bucket."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        watched: Watched,
        topic: sns.ITopic,
        scope_name: str,
    ) -> None:
        """``scope_name`` tells composites of several stacks apart; empty in the shared one."""
        super().__init__(scope, construct_id)
        self._watched, self._topic, self._scope_name = watched, topic, scope_name
        self.telling: list[cloudwatch.IAlarm] = []
        """Those that tell people, in the order of the table."""
        self.made: Made = {row.name: self._row(row) for row in TABLE}
        away = self._database_away()
        for row in TABLE:
            if row.pooled and self.made[row.name]:
                self._pool(row, away)

    def _row(self, row: Row) -> list[cloudwatch.Alarm]:
        return [self._alarm(row, subject) for subject in row.subjects(self._watched)]

    def _alarm(self, row: Row, subject: str) -> cloudwatch.Alarm:
        name = row.alarm_name(self._watched, subject)
        alarm = cloudwatch.Alarm(
            self,
            name.removeprefix(self._watched.names.prefix),
            alarm_name=name,
            alarm_description=row.describe(),
            metric=row.series(self._watched, subject).metric(minutes=row.minutes),
            threshold=row.limit(self._watched),
            comparison_operator=row.comparison,
            evaluation_periods=row.periods,
            datapoints_to_alarm=row.breaching or row.periods,
            treat_missing_data=_MISSING[row.missing],
        )
        if not row.pooled:
            self._tell(alarm)
        return alarm

    def _database_away(self) -> cloudwatch.IAlarm:
        names = self._watched.names
        if not self._watched.shared:
            return cloudwatch.Alarm.from_alarm_name(self, DATABASE_AWAY, names.of(DATABASE_AWAY))
        signs = {names.of("function-errors", step) for step in DATABASE_AWAY_SIGNS}
        found = [alarm for alarm in self.made["function-errors"] if _name(alarm) in signs]
        away = cloudwatch.CompositeAlarm(
            self,
            DATABASE_AWAY,
            composite_alarm_name=names.of(DATABASE_AWAY),
            alarm_description=f"{DATABASE_AWAY_MEANING} {RUNBOOK}#{DATABASE_AWAY}",
            alarm_rule=cloudwatch.AlarmRule.all_of(*_rules(found)),
        )
        self._tell(away)
        return away

    def _pool(self, row: Row, away: cloudwatch.IAlarm) -> None:
        words = filter(None, (row.name, self._scope_name))
        pool = cloudwatch.CompositeAlarm(
            self,
            f"any-{row.name}",
            composite_alarm_name=self._watched.names.of("any", *words),
            alarm_description=row.describe(),
            alarm_rule=cloudwatch.AlarmRule.any_of(*_rules(self.made[row.name])),
            actions_suppressor=away,
            actions_suppressor_wait_period=SUPPRESSOR_AWAITED,
            actions_suppressor_extension_period=SUPPRESSED_FOR,
        )
        self._tell(pool)

    def _tell(self, alarm: cloudwatch.AlarmBase) -> None:
        alarm.add_alarm_action(actions.SnsAction(self._topic))
        self.telling.append(alarm)


def _rules(alarms: Sequence[cloudwatch.Alarm]) -> list[cloudwatch.IAlarmRule]:
    return [cloudwatch.AlarmRule.from_alarm(alarm, cloudwatch.AlarmState.ALARM) for alarm in alarms]


def _name(alarm: cloudwatch.Alarm) -> str:
    resource = alarm.node.default_child
    assert isinstance(resource, cloudwatch.CfnAlarm)
    return resource.alarm_name or ""
