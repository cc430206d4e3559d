"""``sluice cost``: what a stage costs, by what was measured and by prices that anybody may edit."""
