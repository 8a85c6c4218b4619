"""Webhooks: tell receivers of the operator's choice what a server finds out."""
