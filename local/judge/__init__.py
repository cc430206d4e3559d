"""Holds what our tables and reports say against the ledger of the simulated Cloud API.

``books`` gathers both, ``ledger`` has what must hold whatever a scenario meets, and the other
modules have what the stories of their names promise. All of that is pure.
"""
