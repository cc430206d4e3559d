"""What the simulated API is told: one frozen value, read from JSON, every field with a default."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from local.cloud_api.rules import Rule

SAMPLE_TEMPLATES: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "name": "vaccination_reminder",
        "language": "en_US",
        "status": "APPROVED",
        "category": "UTILITY",
        "parameter_format": "POSITIONAL",
        "quality_score": {"score": "GREEN"},
        "components": [
            {
                "type": "BODY",
                "text": "Dear {{1}}, {{2}} expects you on {{3}} for your vaccination.",
                "example": {"body_text": [["Ada", "City Clinic", "2026-12-07"]]},
            },
            {"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY", "text": "Stop"}]},
        ],
    },
    {
        "name": "clinic_opening",
        "language": "en_US",
        "status": "APPROVED",
        "category": "MARKETING",
        "parameter_format": "NAMED",
        "quality_score": {"score": "UNKNOWN"},
        "components": [
            {"type": "HEADER", "format": "IMAGE", "example": {"header_handle": ["https://…"]}},
            {"type": "BODY", "text": "Dear {{name}}, {{clinic}} opens on Monday."},
            {"type": "FOOTER", "text": "City Health"},
        ],
    },
)


STANDARD_MESSAGES_PER_SECOND: Final = 80


@dataclass(frozen=True, slots=True)
class Number:
    """A business phone number and its cap, in requests in any half-open second."""

    messages_per_second: int = 80
    account_id: str = "102290129340398"
    display_phone_number: str = "15550783881"
    country_calling_code: str = "1"
    verified_name: str = "City Health"
    status: str = "CONNECTED"
    quality_rating: str = "GREEN"
    throughput_level: str | None = None
    """None: HIGH where the cap is over the standard 80."""
    messaging_limit: str = "TIER_100K"

    @property
    def throughput(self) -> str:
        """As the Graph API calls it. Source: Meta, Cloud API, throughput."""
        standard = self.messages_per_second <= STANDARD_MESSAGES_PER_SECOND
        return self.throughput_level or ("STANDARD" if standard else "HIGH")


@dataclass(frozen=True, slots=True)
class Config:
    """Numbers, secrets, speeds and shares (0 to 1) of everything that may go wrong.

    Delays are lognormal, given by their median; a share is decided per accepted message.
    """

    numbers: Mapping[str, Number] = field(default_factory=lambda: {"106540352242922": Number()})
    access_tokens: tuple[str, ...] = ("local-access-token",)
    app_secrets: tuple[str, ...] = ("local-app-secret",)
    webhook_url: str = ""
    seed: int = 1

    templates: tuple[Mapping[str, Any], ...] = SAMPLE_TEMPLATES
    """As Meta lists them; one with an ``account_id`` is that account's alone."""
    app_id: str = "670843887433847"
    """Of the app that the access tokens are of."""
    subscribed_apps: tuple[str, ...] = ("670843887433847",)
    """Ids of the apps that get the webhooks of every account."""
    management_calls_per_hour: int = 5_000
    management_code: int | None = None
    """Refuses every question about templates, and every upload."""

    latency_milliseconds_median: float = 180.0
    latency_sigma: float = 0.35
    pair_interval_seconds: float = 6.0
    pair_burst_max: int = 45

    delivered_share: float = 0.97
    read_share: float = 0.6
    read_without_delivered_share: float = 0.0
    sent_seconds_median: float = 0.3
    delivered_seconds_median: float = 0.8
    read_seconds_median: float = 2.0
    delay_sigma: float = 0.5
    pricing_category: str = "marketing"

    duplicate_share: float = 0.0
    disorder_share: float = 0.0
    early_share: float = 0.0
    late_share: float = 0.0
    late_seconds: float = 30.0
    lost_answer_share: float = 0.0
    lost_status_share: float = 0.0
    failed_share: float = 0.0
    failed_code: int = 131026
    failed_without_opaque_share: float = 0.0
    held_share: float = 0.0
    held_seconds: float = 5.0
    held_dropped_share: float = 0.0

    reply_share: float = 0.0
    reply_context_share: float = 0.5
    stop_share: float = 0.0
    reply_seconds_median: float = 3.0

    statuses_per_post_max: int = 100
    flush_interval_seconds: float = 0.25
    webhooks_in_flight_max: int = 8
    webhook_timeout_seconds: float = 20.0
    webhook_retry_seconds_base: float = 0.5
    webhook_retry_seconds_max: float = 8.0

    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        """Refuse shares that are no shares and limits that would stop everything."""
        for item in fields(self):
            if item.name.endswith("_share") and not 0 <= getattr(self, item.name) <= 1:
                raise ValueError(f"{item.name} is a share between 0 and 1")
        if not self.app_secrets or not self.access_tokens:
            raise ValueError("app_secrets and access_tokens need one entry at least")
        for name in ("statuses_per_post_max", "webhooks_in_flight_max", "flush_interval_seconds"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive")


def read_config(path: Path) -> Config:
    """The config in a JSON file; ValueError names a key that is not known."""
    return changed(Config(), json.loads(path.read_text(encoding="utf-8")))


def changed(config: Config, changes: Mapping[str, Any]) -> Config:
    """The config with some fields replaced, given as JSON values; ValueError if one is wrong."""
    values = {name: _value(name, raw) for name, raw in changes.items()}
    try:
        return dataclasses.replace(config, **values)
    except TypeError as error:
        raise ValueError(str(error)) from error


def as_json(config: Config) -> dict[str, Any]:
    """The config as it would be written in the file."""
    return dataclasses.asdict(config)


def _value(name: str, raw: Any) -> Any:
    try:
        if name == "numbers":
            return {key: Number(**number) for key, number in raw.items()}
        if name == "rules":
            return tuple(_rule(rule) for rule in raw)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error
    return tuple(raw) if isinstance(raw, list) else raw


def _rule(raw: Mapping[str, Any]) -> Rule:
    return Rule(**{**raw, "attempts": tuple(raw.get("attempts", ()))})
