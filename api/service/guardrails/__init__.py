"""Use cases of guardrails: read rule files, set and retire rules, and evaluate actions."""
