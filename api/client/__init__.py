"""The client of a remote ledger, for the command line."""
