"""The ledger: append, read, follow and prove events. It imports only `events`."""
