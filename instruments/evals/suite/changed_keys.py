"""Name the keys in which two values of JSON or YAML differ."""

from collections.abc import Iterator

DEPTH_MAX = 4
"""The deepest keys that are named; below them, the key above is."""


def changed_keys(before: object, after: object, prefix: str = "", depth: int = DEPTH_MAX) -> Iterator[str]:
    """Yield the keys whose values differ, sorted, as `evidence.log`; with `(added)` or `(removed)` if only one has it.

    1 and 1.0 differ, and so do 1 and true.
    """
    if not (isinstance(before, dict) and isinstance(after, dict)) or depth == 0:
        if not _equal(before, after):
            yield prefix or "everything"
        return
    for key in sorted(before.keys() | after.keys(), key=str):
        name = f"{prefix}.{key}" if prefix else str(key)
        if key not in before:
            yield f"{name} (added)"
        elif key not in after:
            yield f"{name} (removed)"
        else:
            yield from changed_keys(before[key], after[key], name, depth - 1)


def _equal(before: object, after: object) -> bool:
    if type(before) is not type(after):
        return False
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(_equal(before[key], after[key]) for key in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(_equal, before, after))
    return before == after
