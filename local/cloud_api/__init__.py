"""A simulated WhatsApp Cloud API: the same paths and JSON as Meta's, and a ledger that judges.

Start it with `python -m local.cloud_api --port 0 --config cloud_api.json --ledger ledger.sqlite`.
"""
