"""``python -m cli``: the same as ``sluice``."""

from cli.application import app

if __name__ == "__main__":
    app()
