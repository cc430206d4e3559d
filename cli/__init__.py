"""The command ``sluice``: what the people who run a stage do from their terminal."""
