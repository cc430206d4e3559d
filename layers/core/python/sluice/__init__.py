"""Sluice sends WhatsApp campaigns through Meta's Cloud API at an exact rate.

The rings, outermost first: ``wiring`` builds ``adapters`` (how: Postgres, SQS, HTTP) and hands
them to ``steps`` (what happens, one module a step), which decide with ``domain`` (pure).
"""
