"""The templates of the example stage, read as CloudFormation will read them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.application import new_app, templates_of
from infra.config import load_stage
from infra.stacks import add_stacks
from infra.stage_checks import NUMBERS_PER_BUCKET_MAX
from infra.stage_parts import Number
from sluice.domain import limits
from sluice.domain.lanes import LANES
from sluice.domain.topup import chunk_deliveries_max
from sluice.settings import DATABASE_LOG, FUNCTION_VARIABLES
from tests.infra.example import Example, code_in

SLOW = "106540352242922"
FAST = "106540352242923"
POWERTOOLS = {"POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE", "POWERTOOLS_LOG_LEVEL"}
WILDCARDS = {
    ("Restore", "logs:DescribeLogGroups"),
    ("Restore", "logs:FilterLogEvents"),
    # Any object of the audience bucket may be an audience.
    ("Campaign", "s3:GetObject"),
    # An export of suppressions has any name that begins so.
    ("Campaign", "s3:PutObject"),
    ("Campaign", "s3:AbortMultipartUpload"),
    # Exports lie where their requests say, in the bucket of exports.
    ("Export", "s3:GetObject"),
    ("Export", "s3:PutObject"),
    # Schedules are made as people publish them, in one group.
    ("Schedule", "scheduler:CreateSchedule"),
    ("Schedule", "scheduler:UpdateSchedule"),
    ("Schedule", "scheduler:DeleteSchedule"),
    # What belongs to numbers stands in later stacks, so it is named by prefix.
    ("Redrive", "sqs:SendMessage"),
    ("Redrive", "sqs:ReceiveMessage"),
    ("Redrive", "sqs:DeleteMessage"),
    # The CDK's own: it runs one function, in whichever version.
    (
        "AWSCDKTriggerCustomResourceProviderCustomResourceProviderRoleE18FAF0A",
        "lambda:InvokeFunction",
    ),
}

Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def templates(example: Example) -> dict[str, Any]:
    return example.templates


@pytest.fixture
def resources(templates: dict[str, Any]) -> Resources:
    """Those of every stack; logical ids are unique among them."""
    every: Resources = {}
    for stack, template in templates.items():
        every |= {f"{stack}/{name}": value for name, value in template["Resources"].items()}
    return every


def of_type(resources: Resources, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, resource in resources.items():
        if resource["Type"] == kind:
            yield name, resource["Properties"]


def ours(resources: Resources) -> Iterator[dict[str, Any]]:
    """Our functions; the others are the CDK's own."""
    for _, function in of_type(resources, "AWS::Lambda::Function"):
        if "FunctionName" in function:
            yield function


def permissions(resources: Resources) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every statement of every role, with the name of what it stands in."""
    for name, role in of_type(resources, "AWS::IAM::Role"):
        for policy in role.get("Policies", []):
            yield from ((name, each) for each in policy["PolicyDocument"]["Statement"])
    for name, policy in of_type(resources, "AWS::IAM::Policy"):
        yield from ((name, each) for each in policy["PolicyDocument"]["Statement"])


def queue_names(resources: Resources) -> dict[str, str]:
    return {name: queue["QueueName"] for name, queue in of_type(resources, "AWS::SQS::Queue")}


@pytest.mark.parametrize(
    ("number", "lane", "slots", "rates", "batch", "window"),
    [
        (SLOW, "bulk", 2, ("30.4", "38.0"), 8, None),
        (SLOW, "conversation", 2, ("7.6", "7.6"), 6, None),
        (FAST, "bulk", 10, ("76.0", "95.0"), 19, limits.SEND_BATCH_WINDOW_SECONDS),
        (FAST, "conversation", 2, ("95.0", "95.0"), 10, None),
    ],
)
def test_a_sender_has_as_many_executions_as_its_event_source_may_start(
    resources: Resources,
    number: str,
    lane: str,
    slots: int,
    rates: tuple[str, str],
    batch: int,
    window: int | None,
) -> None:
    (function,) = (
        function
        for function in ours(resources)
        if function["FunctionName"] == f"sluice-example-send-{number}-{lane}"
    )
    (mapping,) = (
        mapping
        for name, mapping in of_type(resources, "AWS::Lambda::EventSourceMapping")
        if f"{number}{lane.capitalize()}" in name
    )
    variables = function["Environment"]["Variables"]
    assert function["ReservedConcurrentExecutions"] == slots
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": slots}
    assert (
        variables["SLOT_SENDS_PER_SECOND"],
        variables["SLOT_SENDS_PER_SECOND_LENT"],
    ) == rates
    assert mapping["BatchSize"] == batch
    # SQS gives more than ten messages only to who waits for them.
    assert mapping.get("MaximumBatchingWindowInSeconds") == window


def test_every_function_is_told_exactly_the_variables_of_its_step(resources: Resources) -> None:
    told = {
        variables["POWERTOOLS_SERVICE_NAME"]: variables.keys() - POWERTOOLS
        for function in ours(resources)
        if (variables := function["Environment"]["Variables"])
    }
    assert told == {step: set(names) for step, names in FUNCTION_VARIABLES.items()}


def test_every_queue_that_a_function_works_on_has_a_dead_letter_queue(resources: Resources) -> None:
    for _, mapping in of_type(resources, "AWS::Lambda::EventSourceMapping"):
        (source,) = (
            queue
            for name, queue in of_type(resources, "AWS::SQS::Queue")
            if name.endswith("/" + mapping["EventSourceArn"]["Fn::GetAtt"][0])
        )
        fifo = source.get("FifoQueue", False)
        receives = limits.FIFO_RECEIVES_MAX if fifo else limits.SQS_RECEIVES_MAX
        assert source["RedrivePolicy"]["maxReceiveCount"] == receives


def test_no_function_is_started_by_a_queue_that_people_or_redrive_read(
    resources: Resources,
) -> None:
    """Lambda stops loops of a queue, a function and the same queue after sixteen rounds."""
    names = queue_names(resources)
    started_by = {
        queue
        for _, mapping in of_type(resources, "AWS::Lambda::EventSourceMapping")
        for name, queue in names.items()
        if name.endswith("/" + mapping["EventSourceArn"]["Fn::GetAtt"][0])
    }
    assert started_by
    assert not [name for name in started_by if "-dead" in name or "-parked" in name]


def test_redrive_may_read_every_dead_letter_queue_that_is_deployed_with_it(
    resources: Resources,
) -> None:
    dead = {
        name.partition("/")[2]
        for name, queue in queue_names(resources).items()
        if name.startswith("SluiceShared")
        and queue.removesuffix(".fifo").endswith("-dead")
        # Who sent an approval counts, so nobody sends it again.
        and queue != "sluice-example-approvals-dead"
    }
    readable = {
        name
        for role, statement in permissions(resources)
        if "/Redrive" in role and "sqs:ReceiveMessage" in statement["Action"]
        for name in re.findall(r"'Fn::GetAtt': \['(\w+)'", str(statement["Resource"]))
    }
    assert readable == dead
    assert len(dead) == 7


@pytest.mark.parametrize(("phone_number_id", "rate"), [(SLOW, 76.0), (FAST, 950.0)])
def test_a_number_s_dead_letters_come_back_at_five_per_cent_of_its_rate(
    resources: Resources, phone_number_id: str, rate: float
) -> None:
    deliveries = {}
    for _, parameter in of_type(resources, "AWS::SSM::Parameter"):
        if str(parameter["Name"]).endswith(f"/routes/send-{phone_number_id}"):
            for lane in LANES:
                (found,) = re.findall(
                    rf'"send-{phone_number_id}-{lane}":{{.*?"messages_per_second":([0-9.]+)',
                    str(parameter["Value"]).replace(" ", ""),
                )
                deliveries[lane] = float(found) * chunk_deliveries_max(lane)
    assert set(deliveries) == set(LANES)
    assert sum(deliveries.values()) == pytest.approx(0.05 * rate)


def test_the_report_takes_nothing_out_of_the_parked_queue(resources: Resources) -> None:
    actions = {
        action
        for name, statement in permissions(resources)
        if "/Report" in name
        for action in statement["Action"]
        if action.startswith("sqs:")
    }
    assert actions == {
        "sqs:ReceiveMessage",
        "sqs:ChangeMessageVisibility",
        "sqs:GetQueueAttributes",
    }


def test_every_queue_is_encrypted_and_takes_tls_only(resources: Resources) -> None:
    denying = [
        f"{name.partition('/')[0]}/{queue['Ref']}"
        for name, policy in of_type(resources, "AWS::SQS::QueuePolicy")
        for queue in policy["Queues"]
        if {"Bool": {"aws:SecureTransport": "false"}}
        in [statement.get("Condition") for statement in policy["PolicyDocument"]["Statement"]]
    ]
    for name, queue in of_type(resources, "AWS::SQS::Queue"):
        assert queue["SqsManagedSseEnabled"] is True
        assert denying.count(name) == 1


def test_every_topic_is_encrypted(resources: Resources) -> None:
    topics = dict(of_type(resources, "AWS::SNS::Topic"))
    assert len(topics) == 3
    assert all("KmsMasterKeyId" in topic for topic in topics.values())


def test_every_topic_and_bucket_takes_tls_only(resources: Resources) -> None:
    for kind, policies, named in (
        ("AWS::SNS::Topic", "AWS::SNS::TopicPolicy", "Topics"),
        ("AWS::S3::Bucket", "AWS::S3::BucketPolicy", "Bucket"),
    ):
        closed = [
            repr(policy[named])
            for _, policy in of_type(resources, policies)
            if "'aws:SecureTransport': 'false'" in repr(policy["PolicyDocument"])
        ]
        for name, _ in of_type(resources, kind):
            assert any(f"'{name.partition('/')[2]}'" in policy for policy in closed), name


def test_no_stack_imports_from_another(templates: dict[str, Any]) -> None:
    assert "Fn::ImportValue" not in repr(templates)
    for template in templates.values():
        assert not [one for one in template.get("Outputs", {}).values() if "Export" in one]


def test_every_subscription_is_filtered_and_keeps_what_it_cannot_deliver(
    resources: Resources,
) -> None:
    subscriptions = [value for _, value in of_type(resources, "AWS::SNS::Subscription")]
    assert len(subscriptions) == 10
    for subscription in subscriptions:
        assert subscription["FilterPolicy"]
        assert subscription["RedrivePolicy"]["deadLetterTargetArn"]


def test_requests_come_in_the_envelope_that_has_the_id_of_their_publication(
    resources: Resources,
) -> None:
    enveloped = [
        subscription["FilterPolicy"]["kind"]
        for _, subscription in of_type(resources, "AWS::SNS::Subscription")
        if not subscription.get("RawMessageDelivery")
    ]
    assert sorted(enveloped) == [
        ["audience", "campaign", "suppressions"],
        ["command"],
        ["erase"],
        ["export"],
        ["schedule"],
    ]


def test_each_number_takes_its_own_messages_and_unrouted_knows_them_all(
    resources: Resources,
) -> None:
    policies = [value["FilterPolicy"] for _, value in of_type(resources, "AWS::SNS::Subscription")]
    numbers = [policy["phone_number_id"] for policy in policies if "phone_number_id" in policy]
    assert sorted(numbers) == [[SLOW], [SLOW], [FAST], [FAST]]
    (unrouted,) = (policy["$or"] for policy in policies if "$or" in policy)
    others = [{"exists": False}, {"anything-but": [SLOW, FAST]}]
    assert {"kind": ["send"], "phone_number_id": others} in unrouted


WORK = {"approvals", "campaign", "command", "erase", "export", "schedule", "signals", "statuses"}


def test_messages_of_a_paused_number_wait_as_long_as_sqs_lets_them(resources: Resources) -> None:
    for _, queue in of_type(resources, "AWS::SQS::Queue"):
        days = queue["MessageRetentionPeriod"] / 86_400
        name = queue["QueueName"].removesuffix(".fifo")
        work = name.rpartition("-")[2] in WORK
        assert days == (4 if work else 14)


def test_statuses_pass_at_high_throughput(resources: Resources) -> None:
    (statuses,) = (
        queue
        for _, queue in of_type(resources, "AWS::SQS::Queue")
        if queue["QueueName"] == "sluice-example-statuses.fifo"
    )
    assert statuses["DeduplicationScope"] == "messageGroup"
    assert statuses["FifoThroughputLimit"] == "perMessageGroupId"


def test_no_permission_has_a_wildcard_without_a_reason(resources: Resources) -> None:
    found = set()
    for name, statement in permissions(resources):
        actions, on = statement["Action"], statement["Resource"]
        for action in [actions] if isinstance(actions, str) else actions:
            assert "*" not in action.partition(":")[2].replace("GenerateDataKey*", "")
            if "*" in repr(on):
                found.add((name.partition("/")[2].partition("Step")[0], action))
    assert found == WILDCARDS


def test_scheduler_may_send_to_two_queues_and_nobody_else_is_given_its_role(
    resources: Resources,
) -> None:
    (role,) = (
        role
        for _, role in of_type(resources, "AWS::IAM::Role")
        if "scheduler.amazonaws.com" in repr(role["AssumeRolePolicyDocument"])
    )
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    every = list(permissions(resources))
    (statement,) = (statement for name, statement in every if "/ScheduleRole" in name)
    named = {name.partition("/")[2]: queue for name, queue in queue_names(resources).items()}
    assert "sqs:SendMessage" in statement["Action"]
    assert {named[resource["Fn::GetAtt"][0]] for resource in statement["Resource"]} == {
        "sluice-example-schedule",
        "sluice-example-schedule-undelivered",
    }
    (passed,) = (statement for _, statement in every if "iam:PassRole" in statement["Action"])
    assert passed["Condition"] == {
        "StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}
    }


def test_only_the_export_has_the_layer_that_writes_parquet(resources: Resources) -> None:
    layers = {
        function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: len(function["Layers"])
        for function in ours(resources)
    }
    assert {step for step, count in layers.items() if count != 2} == {"export"}
    assert layers["export"] == 3


def test_an_export_has_the_disk_that_its_parts_need(resources: Resources) -> None:
    (export,) = (f for f in ours(resources) if f["FunctionName"] == "sluice-example-export")
    assert export["EphemeralStorage"] == {"Size": limits.EXPORT_DISK_MEGABYTES}
    assert export["MemorySize"] > 2 * limits.EXPORT_PARQUET_MEMORY_MEGABYTES


def test_both_buckets_are_encrypted_closed_and_forget(resources: Resources) -> None:
    buckets = dict(of_type(resources, "AWS::S3::Bucket"))
    assert len(buckets) == 2
    for bucket in buckets.values():
        assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert all(bucket["PublicAccessBlockConfiguration"].values())
        (rule,) = bucket["LifecycleConfiguration"]["Rules"]
        assert (rule["ExpirationInDays"], rule["Status"]) == (30, "Enabled")
        assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_the_webhook_lets_in_three_requests_for_each_message_that_may_be_sent(
    resources: Resources,
) -> None:
    ((_, stage),) = of_type(resources, "AWS::ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"] == {
        "ThrottlingBurstLimit": 2 * 3_078,
        "ThrottlingRateLimit": 3_078,
    }
    routes = {route["RouteKey"] for _, route in of_type(resources, "AWS::ApiGatewayV2::Route")}
    assert routes == {"GET /webhook", "POST /webhook"}


def test_only_functions_that_read_rows_stand_in_the_network(resources: Resources) -> None:
    for function in ours(resources):
        step = function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        assert ("VpcConfig" in function) == ("DATABASE_URL" in FUNCTION_VARIABLES[step])


def test_the_database_is_encrypted_backed_up_and_hard_to_delete(resources: Resources) -> None:
    ((_, cluster),) = of_type(resources, "AWS::RDS::DBCluster")
    assert cluster["StorageEncrypted"] is True
    assert cluster["DeletionProtection"] is True
    assert cluster["EnableIAMDatabaseAuthentication"] is True
    assert cluster["BackupRetentionPeriod"] == 7
    ((_, parameters),) = of_type(resources, "AWS::RDS::DBClusterParameterGroup")
    assert parameters["Parameters"] == {"rds.force_ssl": "1", **DATABASE_LOG}


def test_a_full_bucket_fits_into_a_stack(tmp_path: Path) -> None:
    """Alarms apart, which no function needs: they may stand in a stack of their own."""
    example = load_stage("example")
    full = [
        replace(example.numbers[1], phone_number_id=f"1065403522{n:05d}", bucket=3)
        for n in range(NUMBERS_PER_BUCKET_MAX)
    ]
    stage = replace(example, numbers=tuple(full), account_concurrency=1_000)
    app = new_app(str(tmp_path / "cdk"))
    app.node.set_context("@aws-cdk/core:stackResourceLimit", 0)
    add_stacks(app, stage=stage, code=code_in(tmp_path), account=None)
    template = app.synth().get_stack_by_name("SluiceNumbers3-example").template
    kinds = Counter(
        resource["Type"]
        for resource in template["Resources"].values()
        if resource["Type"] != "AWS::CloudWatch::Alarm"
    )
    assert NUMBERS_PER_BUCKET_MAX == 23
    assert kinds["AWS::Lambda::EventSourceMapping"] == kinds["AWS::Lambda::Alias"] == 46
    assert kinds["AWS::IAM::Role"] == 46, "each function has a role of its own"
    assert kinds.total() == 21 * NUMBERS_PER_BUCKET_MAX + 5
    assert kinds.total() < 490, "some must be kept free for what comes"


def test_only_functions_that_a_clock_starts_are_told_how_to_be_invoked_late(
    resources: Resources,
) -> None:
    told = {
        next(
            function["FunctionName"].rpartition("-")[2]
            for name, function in of_type(resources, "AWS::Lambda::Function")
            if name.endswith("/" + config["FunctionName"]["Ref"])
        )
        for _, config in of_type(resources, "AWS::Lambda::EventInvokeConfig")
    }
    assert told == {"dispatch", "erase", "reconcile", "redrive"}
    for _, config in of_type(resources, "AWS::Lambda::EventInvokeConfig"):
        assert (config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"]) == (0, 60)


def test_the_topic_may_deliver_to_a_number_s_queues_and_to_nothing_dead(
    resources: Resources,
) -> None:
    names = queue_names(resources)
    delivered = {
        names[f"{name.partition('/')[0]}/{queue['Ref']}"]
        for name, policy in of_type(resources, "AWS::SQS::QueuePolicy")
        if "sns.amazonaws.com" in repr(policy["PolicyDocument"])
        for queue in policy["Queues"]
    }
    of_numbers = {name for name in delivered if "-send-" in name or "-numbers-" in name}
    assert of_numbers == {
        *(f"sluice-example-send-{n}-{lane}" for n in (SLOW, FAST) for lane in LANES),
        "sluice-example-numbers-0-undelivered",
    }
    assert not [name for name in delivered if "-dead" in name]


def numbers_stack(tmp_path: Path, name: str, numbers: tuple[Number, ...]) -> Resources:
    app = new_app(str(tmp_path / f"cdk-{name}"))
    code = tmp_path / f"code-{name}"
    code.mkdir()
    add_stacks(
        app, stage=replace(load_stage("example"), numbers=numbers), code=code_in(code), account=None
    )
    template = app.synth().get_stack_by_name("SluiceNumbers0-example").template
    resources: Resources = template["Resources"]
    return resources


def test_a_number_that_drains_keeps_everything_that_sends(tmp_path: Path) -> None:
    first, second = load_stage("example").numbers
    before = numbers_stack(tmp_path, "before", (first, second))
    after = numbers_stack(tmp_path, "after", (replace(first, state="draining"), second))
    assert before.keys() == after.keys()
    changed = [name for name in before if before[name] != after[name]]
    (parameter,) = changed
    assert after[parameter]["Properties"]["Name"] == f"/sluice/example/numbers/{SLOW}"
    assert '"state": "draining"' in after[parameter]["Properties"]["Value"]


def test_a_number_that_is_removed_takes_only_what_is_its_own(tmp_path: Path) -> None:
    first, second = load_stage("example").numbers
    before = numbers_stack(tmp_path, "before", (first, second))
    after = numbers_stack(tmp_path, "after", (second,))
    gone = before.keys() - after.keys()
    assert len([name for name in gone if not before[name]["Type"].endswith("::Alarm")]) == 21
    assert all(name.startswith(f"Number{SLOW}") for name in gone)
    changed = [name for name in after if before[name] != after[name]]
    assert [after[name]["Type"] for name in changed] == ["AWS::SQS::QueuePolicy"], (
        "the one policy of all dead letters"
    )


def test_the_order_of_numbers_in_the_file_changes_nothing(tmp_path: Path) -> None:
    first, second = load_stage("example").numbers
    before = numbers_stack(tmp_path, "before", (first, second))
    after = numbers_stack(tmp_path, "after", (second, first))
    differing = [name for name in before if before[name] != after.get(name)]
    assert {before[name]["Type"] for name in differing} <= {"AWS::SQS::QueuePolicy"}


def test_the_small_stage_can_be_deployed_as_it_is(tmp_path: Path) -> None:
    """Every check passes, and what costs by the hour is as small as it gets."""
    app = new_app(str(tmp_path / "cdk"))
    (tmp_path / "code").mkdir()
    stage = load_stage("dev")
    templates = templates_of(app, stage=stage, code=code_in(tmp_path / "code"))
    data = templates["SluiceData-dev"]["Resources"]
    ((_, cluster),) = of_type(data, "AWS::RDS::DBCluster")
    assert cluster["ServerlessV2ScalingConfiguration"] == {
        "MinCapacity": 0,
        "MaxCapacity": 2,
        "SecondsUntilAutoPause": 300,
    }
    assert cluster["DeletionProtection"] is False
    kept = {
        name
        for name, resource in data.items()
        if resource.get("DeletionPolicy") == "Retain" and "Database" in name
    }
    assert kept == set()
