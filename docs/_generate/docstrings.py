"""Read the docstrings below constants and fields, which Python does not keep."""

import ast
import inspect
from collections.abc import Iterable
from functools import cache
from types import ModuleType


def of_module(module: ModuleType) -> dict[str, str]:
    """Return the docstrings under a module's constants."""
    return _under(ast.parse(inspect.getsource(module)).body)


def of_fields(kind: type) -> dict[str, str]:
    """Return the docstrings under the fields of a struct, those of its bases first."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        source = _classes(base.__module__).get(base.__name__)
        found |= _under(source.body) if source is not None else {}
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    named = inspect.getmodule(__import__(module, fromlist=["*"]))
    try:
        tree = ast.parse(inspect.getsource(named)) if named else ast.Module([], [])
    except (OSError, TypeError):
        return {}
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _under(body: Iterable[ast.stmt]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for node in body:
        text = _text(node)
        if name and text is not None:
            found[name] = inspect.cleandoc(text)
        named = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        name = named.id if isinstance(named, ast.Name) else ""
    return found


def _text(node: ast.stmt) -> str | None:
    """Return the text of a statement that is only a text."""
    value = node.value if isinstance(node, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
