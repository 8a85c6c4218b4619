"""What the scores of attempts come to, by scenario and over scenarios: one arithmetic for runs, lists and boards."""

from typing import Literal

Verdict = Literal["stable", "flaky", "failing", "error", "skipped"]
"""Of a scenario: all its attempts passed, some did, none did; nothing but errors; nothing but skipped."""
