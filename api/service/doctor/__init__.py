"""Check an installation of a ledger: its files, its disk, its clock, its key, its backups."""
