"""What an operator orders of a deployed stage, by AWS's own calls."""
