"""The verb `verify`: an export, a ledger file, or what a server serves."""

from api.verify.report import VerifyReport, verify_ledger, verify_package, verify_server

__all__ = ["VerifyReport", "verify_ledger", "verify_package", "verify_server"]
