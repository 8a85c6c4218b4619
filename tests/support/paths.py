"""Where the project and the shared test data are."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The project's folder."""

SHARED = ROOT.parent / "shared" / "data"
"""Real material beside the project; tests that need it are skipped where it is absent."""
