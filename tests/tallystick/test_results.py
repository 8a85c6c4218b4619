"""The client's structs beside the server's: nothing that a server answers is lost, and nothing unknown is an error."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import msgspec
import pytest
from msgspec import inspect

from api.service.decisions import DecisionPage as ServerDecisionPage
from events.envelope import Event as ServerEvent
from events.model import ModelIdentity
from projections.discovery.run_report import RunReport
from tallystick import results, shapes
from tallystick.request_flow import Response, decode_response

PAIRS: list[tuple[type, type]] = [
    (ServerDecisionPage, results.DecisionPage),
    (ServerEvent, results.Event),
    (ModelIdentity, results.ClaimedModel),
]


def missing(server: inspect.Type, client: inspect.Type, path: str) -> Iterator[str]:
    """Yield each field that the server's shape has and the client's has not, at any depth."""
    server, client = _whole(server), _whole(client)
    if isinstance(server, _LISTS) and isinstance(client, _LISTS):
        yield from missing(_item(server), _item(client), f"{path}[]")
    if isinstance(server, inspect.StructType) and isinstance(client, inspect.StructType):
        known = {field.name: field for field in client.fields}
        for field in server.fields:
            if field.name in known:
                yield from missing(field.type, known[field.name].type, f"{path}.{field.name}")
            else:
                yield f"{path}.{field.name}"


_LISTS = (inspect.ListType, inspect.VarTupleType)


def _item(kind: inspect.Type) -> inspect.Type:
    assert isinstance(kind, _LISTS)
    return kind.item_type


def _whole(kind: inspect.Type) -> inspect.Type:
    """A type without its alternatives: null, or nothing."""
    while isinstance(kind, inspect.UnionType | inspect.Metadata):
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
            continue
        rest = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        rest = [one for one in rest if not (isinstance(one, inspect.CustomType) and one.cls is msgspec.UnsetType)]
        if len(rest) != 1:
            return kind
        kind = rest[0]
    return kind


@pytest.mark.parametrize(("server", "client"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_field_that_a_server_answers_is_in_the_client(server: type, client: type) -> None:
    lost = set(missing(inspect.type_info(server), inspect.type_info(client), server.__name__))
    assert lost == set(), f"add to tallystick/{client.__module__.partition('.')[2]}.py: {sorted(lost)}"


def test_a_run_is_reported_with_what_programs_use() -> None:
    lost = set(missing(inspect.type_info(RunReport), inspect.type_info(results.DiscoveryReport), "RunReport"))
    assert lost == {"RunReport.config"}


def test_the_comparison_sees_what_is_lost() -> None:
    class Inner(msgspec.Struct):
        there: int
        lost: int

    class Server(msgspec.Struct):
        inner: list[Inner] | None = None

    class ClientInner(msgspec.Struct):
        there: int

    class Mine(msgspec.Struct):
        inner: tuple[ClientInner, ...] = ()

    assert list(missing(inspect.type_info(Server), inspect.type_info(Mine), "S")) == ["S.inner[].lost"]


SHAPES = [import_module(f"tallystick.shapes.{module.name}") for module in iter_modules(shapes.__path__)]
STRUCTS = [
    kind
    for module in (results, *SHAPES)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct
]


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_results_are_frozen_and_skip_unknown_fields(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert not kind.__struct_config__.forbid_unknown_fields


def test_an_answer_of_a_newer_server_is_read() -> None:
    body = b'{"position":1,"id":"a","subject":"decision/d","streamversion":1,"duplicate":false,"added":{"later":[1]}}'
    event = decode_response(Response(201, {}, body, "http://h"), results.DecisionEvent)
    assert (event.position, event.decision_id) == (1, "d")


def test_every_public_field_is_documented() -> None:
    """Sphinx shows the docstring under a field; an undocumented field would be shown without a word."""
    lacking: list[str] = []
    folder = Path(results.__file__).parent
    for file in (folder / "results.py", folder / "fields.py", *(folder / "shapes").glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                lacking += [f"{file.stem}.{node.name}.{field}" for field in _undocumented(node)]
    assert lacking == []


def _undocumented(node: ast.ClassDef) -> Iterator[str]:
    for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not documented:
                yield statement.target.id
