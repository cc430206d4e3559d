"""``sluice preflight``: whether an account and its numbers are ready for a stage."""
