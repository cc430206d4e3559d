"""What happens: one module a step, in pure decisions over ports."""
