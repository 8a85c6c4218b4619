"""The seal of a ledger file that was moved: `LEDGER.moved` names the new place, and the file accepts no more events.

Without it, two ledgers with the same key could grow apart. It can still be read. To append to the file again, an
operator removes `LEDGER.moved`, after making sure that nobody appends to the new place.
"""

from pathlib import Path

from ledger.atomic_file import replace_whole, sync_folder, write_error
from ledger.errors import LedgerUnusable
from ledger.private_file import read_private

BYTES_MAX = 65_536


def moved_path(ledger: Path) -> Path:
    """Return the path of the seal of a ledger file; the same for all symbolic links to the ledger."""
    ledger = ledger.resolve()
    return ledger.with_name(ledger.name + ".moved")


def read_moved(ledger: Path) -> str | None:
    """Return the place that a ledger file was moved to; None if it was not moved. Errors: LedgerUnusable."""
    path = moved_path(ledger)
    try:
        return read_private(path, BYTES_MAX).decode(errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnusable(f"{path} cannot be read: {error}.", "Check its permissions.") from error


def require_unmoved(ledger: Path) -> None:
    """Refuse to append to a ledger file that was moved. Errors: LedgerUnusable."""
    if (moved := read_moved(ledger)) is not None:
        raise LedgerUnusable(
            f"{ledger} was moved to {moved}, and accepts no more events.",
            f"Use the new place: --ledger '{moved}'. If nobody appends there, remove {moved_path(ledger)}.",
        )


def seal_moved(ledger: Path, place: str) -> None:
    """Let a ledger file accept no more events. The caller holds the lock. Errors: LedgerFull, LedgerUnavailable."""
    try:
        replace_whole(moved_path(ledger), f"{place}\n".encode())
    except OSError as error:
        raise write_error(error, f"Sealing {ledger}", "it was not moved") from error


def lift_seal(ledger: Path) -> None:
    """Let a ledger file accept events again. Errors: LedgerFull, LedgerUnavailable."""
    path = moved_path(ledger)
    try:
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(error, f"Removing {path}", "the ledger accepts no events") from error
