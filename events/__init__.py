"""The vocabulary of the ledger: every event type, the envelope, limits and model names. No clock and no I/O."""
