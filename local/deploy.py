"""Deploys synthesised stacks to the local AWS, as the CDK's command line does to AWS."""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError

from local.aws import ACCOUNT, REGION, LocalAws
from local.corrections import corrected

BOOTSTRAP_PARAMETER: Final = "/cdk-bootstrap/hnb659fds/version"
BOOTSTRAP_VERSION: Final = "30"
ZIP_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
FILE_MODE: Final = 0o100644 << 16
TEMPLATE_SUFFIX: Final = ".template.json"
WATCHING: Final = "SluiceObservability"
"""What the names of the stacks that only watch begin with."""
WAIT: Final = {"Delay": 1, "MaxAttempts": 300}


class DeploymentError(RuntimeError):
    """A stack that the local AWS refused; the message says which resource and why."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Where everything is, after all stacks are up."""

    topic_arn: str
    inbound_topic_arn: str
    audience_bucket: str
    export_bucket: str
    webhook_url: str
    report_function: str
    token_secret_id: str
    webhook_secret_id: str
    queue_urls: Mapping[str, str]
    """By name without its prefix: ``parked``, ``statuses.fifo``, ``send-<number>-bulk``, …"""
    functions: Mapping[str, str]
    """Full names, by name without its prefix: ``dispatch``, ``send-<number>-bulk``, …"""


def deploy(aws: LocalAws, assembly: Path, *, stage: str = "local") -> Deployment:
    """Create or update every stack of an assembly, each after those that it depends on.

    But for those that only watch: the local AWS refuses composite alarms, alarms on what is made of
    several metrics, and saved queries, and nothing depends on these stacks.
    """
    manifest = json.loads((assembly / "manifest.json").read_text(encoding="utf-8"))["artifacts"]
    aws.client("ssm").put_parameter(
        Name=BOOTSTRAP_PARAMETER, Value=BOOTSTRAP_VERSION, Type="String", Overwrite=True
    )
    _upload_assets(aws, assembly)
    outputs: dict[str, str] = {}
    for artifact in _in_order(_without_watchers(manifest)):
        properties = artifact["properties"]
        location = _resolve(properties["stackTemplateAssetObjectUrl"]).removeprefix("s3:/")
        outputs |= _put_stack(aws, properties["stackName"], aws.endpoint_url + location)
        template = (assembly / properties["templateFile"]).read_text(encoding="utf-8")
        _reserve_concurrency(aws, json.loads(template))
    return _describe(aws, outputs, prefix=f"sluice-{stage}-")


def put_secrets(
    aws: LocalAws,
    deployment: Deployment,
    *,
    access_token: str,
    app_secrets: tuple[str, ...],
    verify_token: str,
) -> None:
    """What an operator puts once: the token of the Cloud API and the secrets of its webhooks."""
    secrets = aws.client("secretsmanager")
    secrets.put_secret_value(
        SecretId=deployment.token_secret_id,
        SecretString=json.dumps({"access_token": access_token}),
    )
    secrets.put_secret_value(
        SecretId=deployment.webhook_secret_id,
        SecretString=json.dumps({"app_secrets": app_secrets, "verify_token": verify_token}),
    )


def zip_directory(directory: Path) -> bytes:
    """A zip that depends on nothing but names and contents; stored, as it is unpacked often."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(path for path in directory.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(str(file.relative_to(directory)), ZIP_EPOCH)
            entry.external_attr = FILE_MODE
            archive.writestr(entry, file.read_bytes())
    return buffer.getvalue()


def _upload_assets(aws: LocalAws, assembly: Path) -> None:
    assets: dict[tuple[str, str], tuple[Path, str]] = {}
    for file in sorted(assembly.glob("*.assets.json")):
        for asset in json.loads(file.read_text(encoding="utf-8"))["files"].values():
            source = asset["source"]
            for destination in asset["destinations"].values():
                where = (_resolve(destination["bucketName"]), destination["objectKey"])
                assets[where] = (assembly / source["path"], source["packaging"])
    storage = aws.client("s3")
    for bucket in {bucket for bucket, _ in assets}:
        storage.create_bucket(Bucket=bucket)

    def upload(where: tuple[str, str]) -> None:
        path, packaging = assets[where]
        body = zip_directory(path) if packaging == "zip" else path.read_bytes()
        if path.name.endswith(TEMPLATE_SUFFIX):
            body = corrected(body)
        storage.put_object(Bucket=where[0], Key=where[1], Body=body)

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(upload, assets))


def _without_watchers(artifacts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in artifacts.items() if not name.startswith(WATCHING)}


def _in_order(artifacts: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = {
        name: artifact
        for name, artifact in artifacts.items()
        if artifact["type"] == "aws:cloudformation:stack"
    }
    while waiting:
        free = [
            name
            for name, artifact in waiting.items()
            if not waiting.keys() & set(artifact.get("dependencies", []))
        ]
        assert free, f"stacks that wait for each other: {sorted(waiting)}"
        for name in free:
            yield waiting.pop(name)


def _put_stack(aws: LocalAws, name: str, template_url: str) -> dict[str, str]:
    stacks = aws.client("cloudformation")
    body = {
        "StackName": name,
        "TemplateURL": template_url,
        "Capabilities": ["CAPABILITY_NAMED_IAM"],
    }
    exists = _exists(stacks, name)
    try:
        if exists:
            stacks.update_stack(**body)
        else:
            stacks.create_stack(**body)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return _outputs(stacks, name)
        raise DeploymentError(f"{name}: {error}") from error
    return _await_stack(
        stacks, name, "stack_update_complete" if exists else "stack_create_complete"
    )


def _await_stack(stacks: Any, name: str, state: str) -> dict[str, str]:
    try:
        stacks.get_waiter(state).wait(StackName=name, WaiterConfig=WAIT)
    except Exception as error:
        events = stacks.describe_stack_events(StackName=name)["StackEvents"]
        reasons = [
            f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}"
            for event in events
            if event["ResourceStatus"].endswith("FAILED")
        ]
        raise DeploymentError("\n".join([f"{name}:", *reasons])) from error
    return _outputs(stacks, name)


def _exists(stacks: Any, name: str) -> bool:
    try:
        stacks.describe_stacks(StackName=name)
    except ClientError:
        return False
    return True


def _outputs(stacks: Any, name: str) -> dict[str, str]:
    stack = stacks.describe_stacks(StackName=name)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def _reserve_concurrency(aws: LocalAws, template: Mapping[str, Any]) -> None:
    # ministack 1.5.33 reads past this property of a template, but obeys the call.
    functions = aws.client("lambda")
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        reserved = properties.get("ReservedConcurrentExecutions")
        if resource["Type"] == "AWS::Lambda::Function" and reserved is not None:
            functions.put_function_concurrency(
                FunctionName=properties["FunctionName"], ReservedConcurrentExecutions=reserved
            )


def _describe(aws: LocalAws, outputs: Mapping[str, str], *, prefix: str) -> Deployment:
    queues = aws.client("sqs").list_queues(QueueNamePrefix=prefix, MaxResults=1000)["QueueUrls"]
    functions = [
        function["FunctionName"]
        for page in aws.client("lambda").get_paginator("list_functions").paginate()
        for function in page["Functions"]
    ]
    return Deployment(
        topic_arn=outputs["TopicArn"],
        inbound_topic_arn=outputs["InboundTopicArn"],
        audience_bucket=outputs["AudienceBucket"],
        export_bucket=outputs["ExportBucket"],
        webhook_url=aws.http_api_url(outputs["WebhookApiId"], "/webhook"),
        report_function=outputs["ReportFunction"],
        token_secret_id=outputs["TokenSecretId"],
        webhook_secret_id=outputs["WebhookSecretId"],
        queue_urls={url.rpartition("/")[2].removeprefix(prefix): url for url in queues},
        functions={
            name.removeprefix(prefix): name for name in functions if name.startswith(prefix)
        },
    )


def _resolve(text: str) -> str:
    for pseudo, value in (("AccountId", ACCOUNT), ("Region", REGION), ("Partition", "aws")):
        text = text.replace(f"${{AWS::{pseudo}}}", value)
    return text
