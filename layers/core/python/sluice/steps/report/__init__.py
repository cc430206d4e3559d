"""Report: how campaigns, numbers, lists, tests and parked messages stand, for whoever asks."""
