"""The ledger of the simulated agents of the manual."""

from pathlib import Path

from examples.simulated_agents import COLUMNS, rows
from tests.api.cli.command import done


def import_simulated_agents(ledger: Path) -> Path:
    """Import their decisions and reviews into a ledger, and return its path."""
    table = ledger.with_suffix(".csv")
    table.write_text("\n".join(",".join(row) for row in (COLUMNS, *rows())) + "\n")
    done(ledger, "import", "decisions", table, "--map", "decision=question", "--map", "question=question")
    return ledger
