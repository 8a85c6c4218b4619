"""Statistical intervals and tests."""
