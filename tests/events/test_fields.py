"""Each field of each payload says its unit, its range and where its value comes from."""

import ast
import inspect

import pytest

from events.payload import Payload
from events.registry import VOCABULARY

MODULES = sorted({kind.payload.__module__ for kind in VOCABULARY.event_types.values()})


def structs_in(module: str) -> list[ast.ClassDef]:
    source = inspect.getsource(__import__(module, fromlist=["_"]))
    return [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


def undocumented(struct: ast.ClassDef) -> list[str]:
    """Fields that no string with a `Source:` follows."""
    missing = []
    for field, after in zip(struct.body, [*struct.body[1:], None], strict=True):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        match after:
            case ast.Expr(value=ast.Constant(value=str(text))) if "Source:" in text:
                pass
            case _:
                missing.append(f"{struct.name}.{field.target.id}")
    return missing


@pytest.mark.parametrize("module", MODULES)
def test_each_field_is_documented_with_its_source(module: str) -> None:
    structs = structs_in(module)
    assert {kind.payload.__name__ for kind in VOCABULARY.event_types.values() if kind.payload.__module__ == module} <= {
        struct.name for struct in structs
    }
    assert [name for struct in structs for name in undocumented(struct)] == [], (
        'put a string under the field: unit, range and "Source: ..."'
    )


def test_a_field_without_its_source_would_be_found() -> None:
    (struct,) = ast.parse(
        'class S:\n    a: int\n    """Source: x."""\n    b: int\n    """No origin."""\n    c: int\n'
    ).body
    assert isinstance(struct, ast.ClassDef)
    assert undocumented(struct) == ["S.b", "S.c"]


@pytest.mark.parametrize(
    "payload", [kind.payload for kind in VOCABULARY.event_types.values()], ids=VOCABULARY.type_names
)
def test_payloads_are_frozen_strict_and_described(payload: type[Payload]) -> None:
    config = payload.__struct_config__
    assert (config.frozen, config.forbid_unknown_fields, config.omit_defaults) == (True, True, True)
    assert "__doc__" in vars(payload)
    assert payload.__doc__
