"""Operations: each parameter is declared once, and every interface that is made from it has it."""

import asyncio
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
import pytest
from msgspec import Meta

from api.cli.commands import VERBS
from api.cli.lazy_group import Verb, function_of
from api.cli.ledger_target import LedgerTarget, verb
from api.client.remote_views import RemoteViews
from api.http.openapi.document import make_document
from api.http.operation import http_operation
from api.http.route_table import OPERATIONS as PACKAGE
from api.http.route_table import ROWS, operations
from api.mcp.arguments import ReadArguments, arguments
from api.mcp.tool import Tool, ToolCall
from api.mcp.toolsets import TOOLS
from api.parameters import declared, named, parse_params, texts_of
from api.principal import OWNER
from api.service.decision_params import OneDecisionParams
from api.service.ledger import View
from api.service.operation import Operation, operation
from ledger.errors import InvalidQuery
from tallystick.fields import CalibrationFilter, DecisionFilter, Plan


def declared_operations() -> Iterator[Operation[Any, Any]]:
    """Each operation that a route is made from."""
    for row in ROWS:
        if row.package == PACKAGE:
            module, _, name = row.function.partition(":")
            yield getattr(import_module(f"{PACKAGE}.{module}"), name)


OPERATIONS = {each.name: each for each in declared_operations()}

NOT_TYPED = {
    "prefix": "the command always takes the beginning of an id",
}
"""Parameters that no verb has, and why."""

WITHOUT_VERB = {
    "get_run": "the verb run show has --attempts instead of include, and asks for the summary",
    "get_neighbors": "the verb graph shows the same links",
    "get_scenario": "a page has it; no command does yet",
    "get_review_sample": "the verb review has its own options for it, beside those of a review",
    "get_rule_audit": "the verb review has its own options for it",
    "get_related": "the verb reads the largest page",
    "list_evidence": "the verb evidence list reads every page",
    "get_projections": "it has no parameter",
    "get_status": "it has no parameter",
    "get_wrappers": "it has no parameter",
    "get_breakers": "it has no parameter",
    "get_profiles": "the model is an argument that may be left out",
    "get_kept_scenario": "the scenario is the second argument of eval suite show",
    "get_projection": "the name is an argument that may be left out",
    "get_evaluation": "the verb eval show builds a report of several answers",
    "get_comparison": "the verb eval compare builds a report of several answers",
}
"""Operations that no verb takes its options from, and why."""


WITHOUT_TOOL = {
    "get_decisions": "query_decisions searches and lists as CSTP does",
    "get_advice": "pre_action and record_decision tell it",
    **dict.fromkeys(
        ("get_guardrails", "get_guardrail", "get_breakers", "get_status", "list_evidence", "get_related",
         "get_projections", "get_projection", "get_review_sample", "get_inventory", "get_probes", "get_profiles",
         "get_wrappers", "get_runs", "get_scenario", "get_gate", "get_judges", "get_label_queue", "get_suite_versions",
         "get_suite_version", "get_kept_scenario", "get_suite_comparison", "get_sessions",
         "get_changes", "get_tests", "get_rule_audit"),
        "owners ask it, not agents: a tool more costs every session of every agent",
    ),
}  # fmt: skip
"""Operations that no tool of MCP takes its parameters from, and why."""

NOT_TAKEN = {
    "prefix": "a tool always takes the beginning of an id",
    "include": "a tool shows a run or an evaluation in short, or in full",
}
"""Parameters that no tool has, and why. A list has a cursor in place of `offset`."""


def functions(verbs: tuple[Verb, ...] | Any = VERBS) -> Iterator[Any]:  # noqa: ANN401 - a table of verbs
    """The function of each verb, with the wrappers around it."""
    for each in verbs:
        if each.verbs:
            yield from functions(each.verbs)
        else:
            yield function_of(each.function)


def verbs_by_params() -> dict[type, set[str]]:
    """The options of the verbs that are made from a struct of parameters, by that struct."""
    found: dict[type, set[str]] = {}
    for function in functions():
        params = inspect.unwrap(function).__annotations__.get("params")
        if params is not None:
            found[params] = set(inspect.signature(function).parameters)
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_http_has_every_parameter(name: str) -> None:
    asked = OPERATIONS[name]
    made = http_operation(asked)
    expected = {*asked.params.__struct_fields__, *(() if asked.of_now else ("as_of",))}
    assert {each.name for each in (*made.path_parameters, *made.query)} == expected
    assert all(each.description for each in declared(asked.params))


def test_a_command_has_every_parameter_or_the_difference_has_a_reason() -> None:
    verbs = verbs_by_params()
    for name, asked in OPERATIONS.items():
        if asked.params not in verbs:
            assert name in WITHOUT_VERB, f"{name}: add a verb that takes its params, or a reason to WITHOUT_VERB"
            continue
        assert name not in WITHOUT_VERB, f"{name} has a verb now"
        missing = set(asked.params.__struct_fields__) - verbs[asked.params]
        assert missing <= NOT_TYPED.keys(), f"{name}: {missing} is no option; add a reason to NOT_TYPED"


def test_a_tool_has_every_parameter_or_the_difference_has_a_reason() -> None:
    without = set()
    for name, asked in OPERATIONS.items():
        tools = [tool for tool in TOOLS if asked.params in getattr(tool.params, "declared", ())]
        without |= set() if tools else {name}
        for tool in tools:
            missing = set(asked.params.__struct_fields__) - set(tool.params.__struct_fields__)
            missing -= {"offset"} if tool.rows else set()
            assert missing <= NOT_TAKEN.keys(), f"{tool.name}: {missing} is no argument; add a reason to NOT_TAKEN"
    assert without == WITHOUT_TOOL.keys()


@pytest.mark.parametrize("name", OPERATIONS)
def test_texts_are_the_inverse_of_their_parser(name: str) -> None:
    params = OPERATIONS[name].params
    given = {
        parameter.name: "5" if parameter.schema.get("type") == "integer" else "x" for parameter in declared(params)
    }
    required = {parameter.name: given[parameter.name] for parameter in declared(params) if parameter.required}
    stated = parse_params(params, required)
    assert parse_params(params, texts_of(stated)) == stated
    assert texts_of(stated) == required


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(CalibrationFilter, "get_calibration"), (DecisionFilter, "get_decisions"), (Plan, "get_advice")],
)
def test_the_python_client_has_every_parameter(arguments: Any, name: str) -> None:  # noqa: ANN401 - a TypedDict
    fields = set(OPERATIONS[name].params.__struct_fields__)
    assert set(get_type_hints(arguments)) == fields | {"as_of"}


class FlavourParams(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of an operation that exists here only."""

    dish: Annotated[str, Meta(description="The dish.")] = "soup"
    flavour: Annotated[str | None, Meta(description="Only dishes of this flavour.")] = None


class Dish(msgspec.Struct, frozen=True):
    """A dish."""

    taste: str


@operation("/dishes/{dish}", "dishes")
async def get_dish(view: View, params: FlavourParams) -> Dish:
    """Describe a dish."""
    return Dish(params.flavour or "")


def test_one_field_is_a_parameter_everywhere() -> None:
    """The filter `flavour` is declared in one line: HTTP, OpenAPI, a command, a tool and a remote ledger have it."""
    made = http_operation(get_dish)
    assert [each.name for each in made.path_parameters] == ["dish"]
    assert [each.name for each in made.query] == ["flavour", "as_of"]

    described = make_document([*operations(), made])["paths"]["/dishes/{dish}"]["get"]["parameters"]
    assert {each["name"]: each["description"] for each in described}["flavour"] == "Only dishes of this flavour."

    @verb(server=True, reads=True)
    def dish(target: LedgerTarget, params: FlavourParams) -> None:
        """Show a dish."""

    assert {"dish", "flavour"} <= set(inspect.signature(dish).parameters)

    async def answer(call: ToolCall, given: Any) -> dict[str, Any]:  # noqa: ANN401 - a struct that `arguments` made
        return await call.ask(get_dish, given)

    tool = Tool(
        name="get_dish", title="A dish", description="A dish.", toolset="proof", answer=answer,
        params=arguments(ReadArguments, FlavourParams),
    )  # fmt: skip
    assert tool.input_schema["properties"]["flavour"] == {
        "type": "string",
        "description": "Only dishes of this flavour",
    }
    given = msgspec.convert({"flavour": "sour"}, tool.params)
    assert asyncio.run(tool.answer(ToolCall(None, OWNER), given)) == {"taste": "sour"}  # type: ignore[arg-type]

    asked: list[object] = []

    class Store:
        async def view(self, path: str, kind: type, parameters: dict[str, str]) -> Dish:
            asked.append((path, kind, parameters))
            return Dish("salty")

    remote = RemoteViews(Store(), "7")  # type: ignore[arg-type]
    assert asyncio.run(remote.answer(get_dish, FlavourParams(flavour="sour"))) == Dish("salty")
    assert asked == [("/dishes/soup", Dish, {"flavour": "sour", "as_of": "7"})]


def test_a_required_parameter_must_be_stated() -> None:
    with pytest.raises(InvalidQuery, match="decision_id: is missing"):
        parse_params(OneDecisionParams, {})
    assert named(OneDecisionParams)["decision_id"].required


def test_an_answer_that_depends_on_the_caller_needs_one(tmp_path: Path) -> None:
    advice = OPERATIONS["get_advice"]
    assert advice.takes_caller
    with pytest.raises(AssertionError, match="get_advice"):
        asyncio.run(advice(None, advice.params()))  # type: ignore[arg-type]
