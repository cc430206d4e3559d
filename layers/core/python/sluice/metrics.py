"""The metrics that alarms watch: emitted by the functions, watched by ``infra``."""

from typing import Final

NAMESPACE: Final = "Sluice"
AWAITING_APPROVAL: Final = "CampaignsAwaitingApproval"
"""Of reconcile, every minute: campaigns that are held until somebody approves them."""
NEEDS_PERSON: Final = "NeedsPerson"
"""Of send (by phone_number_id), status, signal and reconcile: a pause of a campaign, a number or
an account, or an error that the table does not have."""
