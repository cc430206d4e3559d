"""Postgres, the truth: the schema (``migrations``), the connection and one module a subject."""
