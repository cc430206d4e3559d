"""What the engine promises in figures, each measured beside its peer or its limit in the same run.

``python -m bench.<name>`` talks to people on stderr, ends with one line of JSON on stdout, and
exits with 1 where a bar is missed.
"""
