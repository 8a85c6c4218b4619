"""Importers: decisions, run reports, benchmark cases, CSTP installations, ledgers."""
