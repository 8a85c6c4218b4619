"""Which files are code, which lines count, and which changes are fixes: rules of thumb, each with its errors.

Of the changes that such rules take for fixes of earlier lines only about half repair them; see the manual.
"""

import re
from typing import Final

CODE_ENDINGS: Final = frozenset(
    b"py go ts tsx js jsx mjs cjs rs java c h cc cpp hpp cs rb php swift kt sh bash html css scss vue svelte sql scm "
    b"lua".split()
)
FIX_FILES_MAX: Final = 40
"""A change of more files is no fix, whatever it says."""

_made = re.compile(rb"(^|/)(vendor|node_modules|dist|build|generated|__snapshots__|snapshots)/|\.min\.[a-z]+$")
_comment = re.compile(rb"\s*(#|//|/\*|\*|<!--|\"\"\")")
_LINE_BYTES_MIN: Final = 3
"""A shorter line is blank, or brackets."""

_fix = re.compile(
    r"\b(fix(es|ed|ing)?|bug(s|fix|fixes)?|hotfix(es)?|regressions?|broken|repair(s|ed|ing)?)\b", re.IGNORECASE
)
_no_fix = re.compile(r"\b(typos?|lint(er|ing)?|format(ting)?|docs?|changelog|comments?)\b", re.IGNORECASE)


def is_code(path: bytes) -> bool:
    """Return whether a file is code that somebody wrote here, by its path."""
    name = path.rpartition(b"/")[2]
    return name.rpartition(b".")[2].lower() in CODE_ENDINGS and b"." in name and _made.search(path) is None


def counts(path: bytes, line: bytes) -> bool:
    """Return whether a line is in figures: code, and not blank, brackets or a comment."""
    return is_code(path) and len(line.strip()) >= _LINE_BYTES_MIN and _comment.match(line) is None


def says_fix(subject: str) -> bool:
    """Return whether a change says that it repairs behaviour."""
    return _fix.search(subject) is not None and _no_fix.search(subject) is None
