"""The findings of cdk-nag that we accept: where, which, and why."""

import re
from dataclasses import dataclass
from typing import Final

from aws_cdk import Acknowledgment, Stack, Validations

from infra.names import Names
from infra.stage import Stage
from infra.stage_parts import AuroraDatabase

SOLUTIONS: Final = "AwsSolutions"
SERVERLESS: Final = "Serverless"
_MANAGED: Final = "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """Findings of one rule at the constructs whose path matches."""

    path: str
    rule: str
    reason: str
    pack: str = SOLUTIONS

    @property
    def id(self) -> str:
        """As cdk-nag calls the finding."""
        return f"{self.pack}::{self.pack}-{self.rule}"

    def is_at(self, path: str) -> bool:
        """Whether it is meant for the construct of this path."""
        return re.search(rf"/{self.path}$", path) is not None


_BUCKETS: Final = (
    Accepted(
        path=r"Edges/Audiences",
        rule="S1",
        reason="Read by one function, which logs what it reads; gone after 30 days.",
    ),
    Accepted(
        path=r"Edges/Exports",
        rule="S1",
        reason="Written by one function, which logs what it writes; gone after 30 days.",
    ),
    Accepted(
        path=r"Export/Step",
        rule="IAM5[Resource::<EdgesExportsB86D213D.Arn>/*]",
        reason="Exports lie at places of that bucket that their requests name.",
    ),
)


def _serverless(path: str, rule: str, reason: str) -> Accepted:
    return Accepted(path=path, rule=rule, reason=reason, pack=SERVERLESS)


_ASYNC: Final = (
    "Only the clock and wakers invoke it so, and the next minute makes a lost round good."
)
_ONCE: Final = "The CDK's own: it runs once, while the stack is made."
_SERVERLESS: Final = (
    _serverless(
        r"(Dead|(Undelivered|Unrouted|Parked)/Queue)",
        "SQSRedrivePolicy",
        "Is itself where messages end; an alarm watches it.",
    ),
    _serverless(r"Step/Function", "LambdaDLQ", _ASYNC),
    _serverless(r"Step/Live/EventInvokeConfig", "LambdaAsyncFailureDestination", _ASYNC),
    _serverless(r"Every(Minute|Hour)", "EventBusDLQ", _ASYNC),
    _serverless(
        r"Step/Live/Source",
        "LambdaEventSourceMappingDestination",
        "Lambda has none for SQS: what fails goes to the dead-letter queue of its queue.",
    ),
    _serverless(
        r"Step/Function",
        "LambdaTracing",
        "Each line of the logs has the ids that lead from one step to the next.",
    ),
    _serverless(
        r"Webhook/Stage",
        "APIGWAccessLogging",
        "The function logs each webhook once; a second line would double the cost.",
    ),
    *(
        _serverless(r"AWS679f53fac002430cb0da5b7982bd2287", rule, _ONCE)
        for rule in ("LambdaDLQ", "LambdaDefaultMemorySize", "LambdaTracing")
    ),
)


def accepted(names: Names, *, region: str) -> tuple[Accepted, ...]:
    """Everything that we accept in one stage."""
    return (
        Accepted(
            path=r"ServiceRole",
            rule=f"{_MANAGED}AWSLambdaBasicExecutionRole]",
            reason="AWS's own list of what a function needs to write its logs.",
        ),
        Accepted(
            path=r"ServiceRole",
            rule=f"{_MANAGED}AWSLambdaVPCAccessExecutionRole]",
            reason="AWS's own list of what a function needs to stand in a VPC.",
        ),
        Accepted(
            path=r"Database/Cluster/Secret",
            rule="SMG4",
            reason="Only creates the IAM user; from then on its password opens nothing.",
        ),
        Accepted(
            path=r"Edges/(Token|Webhook)",
            rule="SMG4",
            reason="Meta issues these values and has no call to rotate them: see the runbook.",
        ),
        Accepted(
            path=r"(Undelivered|Unrouted|Parked)/Queue",
            rule="SQS3",
            reason="Is itself where messages end; people read it and an alarm watches it.",
        ),
        Accepted(
            path=r"Webhook/Api",
            rule="APIG4",
            reason="Meta signs each request and the function verifies it before anything else.",
        ),
        Accepted(
            path=r"Webhook/Stage",
            rule="APIG1",
            reason="The function logs each webhook once; a second line would double the cost.",
        ),
        *_audiences("Any object of the audience bucket may be an audience.", "*"),
        *_audiences("An export has any name that begins so.", "suppressions*"),
        *_BUCKETS,
        *_SERVERLESS,
        Accepted(
            path=r"Schedule/Step",
            rule=f"IAM5[Resource::{_schedules(names.schedules, region)}]",
            reason="Schedules are made as people publish them, all in this one group.",
        ),
        *_by_name("Restore/Step", _log_groups(names.path("send-"), region)),
        *_by_name(
            "Redrive/Step",
            [
                _queues(names.of(names.send("*", "*")), region),
                _queues(names.of(names.send("*", "*"), "dead"), region),
            ],
        ),
    )


_TRACES: Final = Accepted(
    path=r"Step",
    rule="IAM5[Resource::*]",
    reason="What Lambda traces goes to X-Ray, which has no resources that could be named.",
)


_UNPROTECTED: Final = Accepted(
    path=r"Database/Cluster",
    rule="RDS10",
    reason="The stage says so: it is there to be tried and thrown away.",
)


def acknowledge(stacks: list[Stack], *, stage: Stage) -> None:
    """Tell the validation of these stacks what is accepted, construct by construct."""
    database = stage.database
    unprotected = isinstance(database, AuroraDatabase) and not database.deletion_protection
    findings = (
        *accepted(Names(stage.stage), region=stage.region),
        *([_TRACES] if stage.features.xray else []),
        *([_UNPROTECTED] if unprotected else []),
    )
    for stack in stacks:
        for construct in stack.node.find_all():
            path = construct.node.path
            for finding in findings:
                if finding.is_at(path):
                    Validations.of(construct).acknowledge(
                        Acknowledgment(id=finding.id, reason=finding.reason)
                    )


def _audiences(reason: str, keys: str) -> list[Accepted]:
    rule = f"IAM5[Resource::<EdgesAudiences86E4855C.Arn>/{keys}]"
    return [Accepted(path=r"Campaign/Step", rule=rule, reason=reason)]


def _by_name(path: str, resources: list[str]) -> list[Accepted]:
    return [
        Accepted(
            path=path,
            rule=f"IAM5[Resource::{resource}]",
            reason="The numbers stand in later stacks, so what belongs to them is named by prefix.",
        )
        for resource in resources
    ]


def _schedules(group: str, region: str) -> str:
    return f"arn:aws:scheduler:{region}:<AWS::AccountId>:schedule/{group}/*"


def _log_groups(prefix: str, region: str) -> list[str]:
    begins = f"arn:aws:logs:{region}:<AWS::AccountId>:log-group:"
    return [f"{begins}{prefix}*:*", f"{begins}{prefix}*", f"{begins}*"]


def _queues(pattern: str, region: str) -> str:
    return f"arn:aws:sqs:{region}:<AWS::AccountId>:{pattern}"
