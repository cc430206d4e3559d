"""Preflight against a simulated account and Meta's simulated Graph API, over real HTTP."""

import json

import pytest
from typer.testing import CliRunner

import cli.application
from cli.application import app
from cli.preflight.command import preflight
from infra.config import stage_of
from tests.conftest import NUMBER, OTHER_NUMBER
from tests.integration.http_servers import answer

ACCOUNT = "102290129340398"
SETTINGS = {"AccountLimit": {"ConcurrentExecutions": 1_000}, "AccountUsage": {}}
QUOTAS = {"Quotas": [{"QuotaName": "Filter policies per topic", "Value": 200.0}]}
DENIED = {"Type": "User", "message": "not authorized", "__type": "AccessDeniedException"}


class Stage:
    """An account and numbers in order, until a test changes one thing."""

    def __init__(self, aws, graph, serve, monkeypatch):
        self.aws, self.graph, self._monkeypatch = aws, graph, monkeypatch
        self.settings, self.quotas = answer(SETTINGS), answer(QUOTAS)
        # moto knows neither the settings of Lambda nor the quotas of SNS.
        self.serve("LAMBDA", serve(lambda *_: self.settings))
        self.serve("SERVICE_QUOTAS", serve(lambda *_: self.quotas))
        secrets = aws.client("secretsmanager")
        values = {
            "token": {"access_token": "local-access-token"},
            "webhook": {"app_secrets": ["local-app-secret"], "verify_token": "hush"},
        }
        for name, value in values.items():
            secrets.create_secret(Name=f"sluice/dev/{name}", SecretString=json.dumps(value))
        aws.client("ssm").put_parameter(
            Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String"
        )
        self.numbers = [
            {
                "phone_number_id": number,
                "account_id": ACCOUNT,
                "portfolio_id": "1",
                "messages_per_second": 80,
                "bucket": 0,
            }
            for number in (NUMBER, OTHER_NUMBER)
        ]

    def serve(self, service, server):
        url = server.url.removesuffix("/v25.0")
        self._monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", url)

    def config(self, **changes):
        return stage_of({
            "stage": "dev",
            "region": "us-east-1",
            "runtime": "host",
            "cloud_api_url": f"{self.graph.url}/v25.0",
            "database": {"url": "postgresql://sluice@127.0.0.1:1/sluice"},
            "numbers": self.numbers,
            **changes,
        })  # fmt: skip

    def checks(self, **changes):
        return {check.name: check for check in preflight(self.config(**changes)).checks}

    def failed(self, **changes):
        return {name for name, check in self.checks(**changes).items() if check.state == "fail"}


@pytest.fixture
def stage(aws, graph, serve, monkeypatch):
    monkeypatch.delenv("SLUICE_ACCESS_TOKEN", raising=False)
    return Stage(aws, graph, serve, monkeypatch)


@pytest.fixture
def run(stage, monkeypatch):
    """Runs the command on the stage and gives the exit status and the output."""
    monkeypatch.setattr(cli.application, "load_stage", lambda _: stage.config())

    def call(*arguments):
        result = CliRunner().invoke(app, ["preflight", "--stage", "dev", *arguments])
        return result.exit_code, result.stdout

    return call


def test_an_account_in_order_passes_every_check(stage):
    checks = stage.checks()

    assert {check.state for check in checks.values()} == {"pass"}
    assert len(checks) == 9 + 2 * 5 + 1


def test_the_command_says_so_for_people_and_for_machines(run):
    status, text = run()
    assert status == 0
    assert text.splitlines()[-1] == "20 pass, 0 warn, 0 fail"

    status, text = run("--json")
    assert status == 0
    assert json.loads(text)["ready"] is True


def test_one_failure_is_the_exit_status_and_every_check_is_still_told(stage, run):
    stage.graph.tell("config", numbers={NUMBER: {}, OTHER_NUMBER: {"status": "PENDING"}})

    status, text = run("--json")

    told = json.loads(text)
    assert (status, told["ready"], len(told["checks"])) == (1, False, 20)
    (failed,) = (one for one in told["checks"] if one["state"] == "fail")
    assert failed["name"] == f"number {OTHER_NUMBER}: status"
    assert failed["remedy"]


def test_no_secret_is_ever_told(stage, run):
    for value in ("hush", "{not JSON hush", json.dumps({"access_token": "", "more": "hush"})):
        stage.aws.client("secretsmanager").put_secret_value(
            SecretId="sluice/dev/token", SecretString=value
        )
        status, text = run()
        assert status == 1
        assert "hush" not in text
        assert "local-app-secret" not in text


def test_before_the_first_deployment_the_token_comes_from_the_environment(stage, monkeypatch):
    secrets = stage.aws.client("secretsmanager")
    for name in ("token", "webhook"):
        secrets.delete_secret(SecretId=f"sluice/dev/{name}", ForceDeleteWithoutRecovery=True)

    checks = stage.checks()
    assert checks["numbers"].state == checks["secret sluice/dev/token"].state == "warn"
    monkeypatch.setenv("SLUICE_ACCESS_TOKEN", "local-access-token")
    assert stage.checks()[f"number {NUMBER}: status"].state == "pass"


def test_a_secret_without_a_value_fails(stage):
    secrets = stage.aws.client("secretsmanager")
    secrets.delete_secret(SecretId="sluice/dev/webhook", ForceDeleteWithoutRecovery=True)
    secrets.create_secret(Name="sluice/dev/webhook")

    assert stage.failed() == {"secret sluice/dev/webhook"}


def test_a_region_without_the_bootstrap_fails(stage):
    stage.aws.client("ssm").delete_parameter(Name="/cdk-bootstrap/hnb659fds/version")

    assert stage.failed() == {"CDK bootstrap"}


def test_a_new_account_with_ten_executions_fails(stage):
    stage.settings = answer({"AccountLimit": {"ConcurrentExecutions": 10}})

    assert stage.failed() == {"concurrency"}


def test_a_topic_that_takes_too_few_policies_fails(stage):
    stage.quotas = answer({"Quotas": [{"QuotaName": "Filter policies per topic", "Value": 9.0}]})

    assert stage.failed() == {"SNS filter policies"}


def test_a_missing_permission_fails_with_its_name(stage):
    refused = answer(DENIED, 403, "x-amzn-ErrorType: AccessDeniedException")
    stage.settings = stage.quotas = refused

    checks = stage.checks()

    assert stage.failed() == {"concurrency", "SNS filter policies"}
    assert "AccessDenied" in checks["concurrency"].found
    assert "lambda:GetAccountSettings" in checks["concurrency"].remedy


def test_a_lost_network_fails_with_a_reason_and_no_traceback(stage, run, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SERVICE_QUOTAS", "http://127.0.0.1:1")

    status, text = run("--json")

    told = {one["name"]: one for one in json.loads(text)["checks"]}
    assert status == 1
    for name in ("credentials", "concurrency", "CDK bootstrap", "secret sluice/dev/token"):
        assert told[name]["state"] == "fail"
        assert "EndpointConnectionError" in told[name]["found"]


def test_a_profile_that_does_not_exist_fails_with_a_reason(stage, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    assert "ProfileNotFound" in stage.checks()["credentials"].found


def test_meta_that_cannot_be_reached_fails_every_number(stage):
    failed = stage.failed(cloud_api_url="http://127.0.0.1:1/v25.0")

    assert failed == {
        f"number {NUMBER}",
        f"number {OTHER_NUMBER}",
        f"webhooks of account {ACCOUNT}",
    }


def test_a_token_that_meta_refuses_is_told_by_its_code(stage):
    stage.graph.tell("config", access_tokens=["another"])

    checks = stage.checks()

    assert checks[f"number {NUMBER}"].state == "fail"
    assert "190" in checks[f"number {NUMBER}"].found


def test_a_number_of_another_account_is_told_with_the_account(stage):
    stage.graph.tell("config", numbers={NUMBER: {"account_id": "7"}, OTHER_NUMBER: {}})
    stage.numbers[1]["account_id"] = "7"
    stage.numbers[0]["portfolio_id"] = "2"

    checks = stage.checks()

    assert "has no such number" not in checks[f"number {NUMBER}"].found
    assert "is of account 7" in checks[f"number {NUMBER}"].found


@pytest.mark.parametrize(
    ("number", "name"),
    [
        ({"quality_rating": "RED"}, "quality"),
        ({"throughput_level": "NOT_APPLICABLE"}, "throughput"),
        ({"status": "BANNED"}, "status"),
    ],
)
def test_what_meta_holds_against_a_number_fails(stage, number, name):
    stage.graph.tell("config", numbers={NUMBER: number, OTHER_NUMBER: {}})

    assert stage.failed() == {f"number {NUMBER}: {name}"}


def test_a_cap_that_meta_does_not_grant_fails(stage):
    stage.numbers[0]["messages_per_second"] = 500

    assert stage.failed() == {f"number {NUMBER}: throughput"}
    stage.graph.tell("config", numbers={NUMBER: {"messages_per_second": 500}, OTHER_NUMBER: {}})
    assert stage.failed() == set()


def test_a_limit_over_what_meta_grants_fails(stage):
    stage.graph.tell("config", numbers={NUMBER: {"messaging_limit": "TIER_250"}, OTHER_NUMBER: {}})

    assert stage.failed(daily_limits={"1": 1_000}) == {f"number {NUMBER}: messaging limit"}


@pytest.mark.parametrize("apps", [[], ["1"]])
def test_an_account_whose_webhooks_go_elsewhere_fails(stage, apps):
    stage.graph.tell("config", subscribed_apps=apps)

    assert stage.failed() == {f"webhooks of account {ACCOUNT}"}


def test_an_answer_of_another_shape_fails(stage, serve):
    server = serve(lambda *_: answer(b"<html>"))

    checks = stage.checks(cloud_api_url=server.url)

    assert "another shape" in checks[f"number {NUMBER}"].found


def test_every_page_of_an_accounts_numbers_is_read(stage, serve):
    def page(request, _number):
        if b"phone_numbers" not in request:
            return answer({"data": []})
        if b"after=next" in request:
            return answer({"data": [{"id": OTHER_NUMBER}]})
        paging = {"cursors": {"after": "next"}, "next": "https://…"}
        return answer({"data": [{"id": NUMBER}], "paging": paging})

    checks = stage.checks(cloud_api_url=serve(page).url)

    assert checks[f"number {OTHER_NUMBER}"].state == "pass"
