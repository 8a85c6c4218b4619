"""The audit export: what it holds, that it proves it, and where it ends up."""
