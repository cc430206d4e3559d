"""Command: what a person orders about campaigns, numbers and parked messages."""
