"""How: one module for each outside system."""
