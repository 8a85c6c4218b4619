"""The verb `verify`: an export, a ledger file, or what a server serves."""

from api.verifying.report import Report, verify_ledger, verify_package, verify_server

__all__ = ["Report", "verify_ledger", "verify_package", "verify_server"]
