"""Verify an export, a ledger file, or the tiles of a server."""

from api.verify.verification import (
    VerifyReport,
    verify_ledger,
    verify_package,
    verify_server,
)

__all__ = ["VerifyReport", "verify_ledger", "verify_package", "verify_server"]
