"""Guardrails: rule files, evaluations and figures."""
