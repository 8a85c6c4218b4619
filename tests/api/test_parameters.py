"""Declared parameters: any text is either a value within the declared bounds or an error that names the parameter."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.route_table import operations
from api.parameters import (
    Parameter,
    check_parameter_names,
    choice_list_parameter,
    choice_parameter,
    integer_parameter,
    parameters_by_name,
    parse_instant,
    parse_time_range,
    text_parameter,
)
from events.limits import ITEMS_MAX
from ledger.errors import InvalidQuery

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)

PARAMETERS = {
    (each.name, parameter.name): parameter
    for each in operations()
    for parameter in (*each.path_parameters, *each.query)
    if (each.name, parameter.name) != ("get_projection", "name")  # a name that does not exist is a 404
}

TEXTS = st.one_of(
    st.text(max_size=30),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.sampled_from(["asc", "true", "30d", "all", "trend,drift", "trend,", "confidenceBucket", "", "+1", "٣", "1_0"]),
)


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Tell whether a parsed value is one that its schema allows; texts are checked by the use cases."""
    if type(value) is tuple:
        assert schema["type"] == "array"
        return len(value) <= schema["maxItems"] and all(fits(one, schema["items"]) for one in value)
    if "enum" in schema:
        return (str(value).lower() if isinstance(value, bool) else value) in schema["enum"]
    if schema.get("type") in ("integer", "number"):
        assert isinstance(value, int | float)
        return bool(schema["minimum"] <= value <= schema["maximum"])
    return True


@pytest.mark.parametrize("parameter", PARAMETERS.values(), ids=map(".".join, PARAMETERS))
@given(text=TEXTS)
def test_a_text_is_within_the_bounds_or_refused_by_name(parameter: Parameter[Any], text: str) -> None:
    try:
        value = parameter.parse(text)
    except InvalidQuery as error:
        refused = error
    else:
        assert fits(value, parameter.schema)
        return
    assert refused.field == parameter.name
    assert refused.advice


def test_a_default_and_an_absent_value() -> None:
    limit = integer_parameter("limit", "", 1, 9, default=5)
    before = integer_parameter("before", "", 1)
    assert (limit.read({}), limit.read({"limit": "7"}), before.find({})) == (5, 7, None)
    with pytest.raises(InvalidQuery, match="before: is missing"):
        before.read({})


@pytest.mark.parametrize("text", ["0", "10", "", "1.0", " 1", "1e0", "٣", "1" * 30])
def test_a_whole_number_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery, match=r"^limit: .* is not a whole number from 1 to 9\."):
        integer_parameter("limit", "", 1, 9).parse(text)


def test_an_alias_is_a_spelling_of_a_word() -> None:
    group_by = choice_parameter("group_by", "", ("agent", "confidence_bucket"), aliases={"bucket": "confidence_bucket"})
    assert group_by.parse("bucket") == group_by.parse("confidence_bucket") == "confidence_bucket"
    assert group_by.schema == {"enum": ["agent", "confidence_bucket", "bucket"]}


def test_a_list_names_the_value_that_is_unknown() -> None:
    include = choice_list_parameter("include", "", ("trend", "drift"))
    assert (include.read({}), include.parse("drift,trend")) == ((), ("drift", "trend"))
    with pytest.raises(InvalidQuery, match="include: 'x' is not one of the choices"):
        include.parse("trend,x")
    with pytest.raises(InvalidQuery, match=f"{ITEMS_MAX + 1} values are more than {ITEMS_MAX}"):
        include.parse(",".join(["trend"] * (ITEMS_MAX + 1)))


def test_a_parameter_is_given_once_and_known() -> None:
    known = [text_parameter("a", ""), text_parameter("b", "")]
    assert parameters_by_name([("a", "1"), ("b", "2")]) == {"a": "1", "b": "2"}
    with pytest.raises(InvalidQuery, match="a: is given more than once"):
        parameters_by_name([("a", "1"), ("a", "1")])
    check_parameter_names({"a"}, known)
    with pytest.raises(InvalidQuery, match="c: is not a parameter here") as raised:
        check_parameter_names({"c"}, known)
    assert raised.value.advice == "Parameters: a, b."


def test_a_range_of_time() -> None:
    day = parse_time_range({"since": "2026-11-01", "until": "2026-11-01"}, NOW)
    assert day.since is not None
    assert day.until is not None
    assert day.until - day.since == timedelta(days=1, microseconds=-1)
    window = parse_time_range({"window": "30d", "since": "2020-01-01"}, NOW)
    assert (window.since, window.until) == (NOW - timedelta(days=30), None)
    assert parse_instant("since", "2026-11-22T14:00:00 02:00") == NOW  # a plus sign in a query string is a space
    for parameters, field in (
        ({"since": "2026-11-02", "until": "2026-11-01"}, "since"),
        ({"window": "30d", "until": "2020-01-01"}, "window"),
    ):
        with pytest.raises(InvalidQuery) as raised:
            parse_time_range(parameters, NOW)
        assert raised.value.field == field
