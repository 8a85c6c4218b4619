"""Laws of the import, for any store: imported events fit the vocabulary, and the report lists the rest."""

from typing import Any

import msgspec
import yaml
from hypothesis import given
from hypothesis import strategies as st

from api.importers.cstp.cstp_yaml import CstpYaml
from api.importers.cstp.merge import merge_decisions
from api.importers.cstp.report import CstpImportResult
from api.importers.cstp.source_decision import read_decision
from api.importers.cstp.to_events import DATA_BYTES_MAX, decision_events
from events.registry import VOCABULARY
from tests.support.cstp_installation import WHOLE

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
"""What JSON, and so a store, can hold."""


def plain(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    """A value as a tree has it: scalars as the texts that YAML writes for them."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, str) else yaml.dump(value).split("\n")[0]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A whole decision with some of its fields, at any depth, replaced by anything."""
    said: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(WHOLE))
    for name in draw(st.sets(st.sampled_from(sorted(said)), max_size=6)):
        inner = said[name]
        while isinstance(inner, list) and inner and draw(st.booleans()):
            inner = inner[0]
        if isinstance(inner, dict) and draw(st.booleans()):
            inner[draw(st.sampled_from(sorted(inner)))] = draw(VALUES)
        else:
            said[name] = draw(VALUES)
    return said


@given(damaged())
def test_whatever_is_said_the_events_are_in_the_vocabulary(said: dict[str, Any]) -> None:
    report = CstpImportResult(path="")
    account = read_decision(said, "aaaa", "a.db", "sqlite", report)
    if account is None:
        assert report.losses
        return
    reported = decision_events(account, None, report)
    assert reported is not None
    for draft in reported:
        body = msgspec.json.encode(draft)
        assert VOCABULARY.draft(body).data == draft.data
        assert len(msgspec.json.encode(draft.data)) <= DATA_BYTES_MAX + 1000
    msgspec.json.encode(report.losses)


@given(damaged(), damaged())
def test_two_accounts_are_joined_whatever_they_say(one: dict[str, Any], other: dict[str, Any]) -> None:
    report = CstpImportResult(path="")
    made = [read_decision(one, "a", "a.yaml", "yaml", report), read_decision(other, "a", "a.db", "sqlite", report)]
    accounts = [account for account in made if account is not None]
    joined = merge_decisions(accounts, report)
    assert len(joined) == min(len(accounts), 1)
    for account in joined:
        for reported in decision_events(account, None, report) or ():
            msgspec.json.encode(reported)
    msgspec.json.encode(report.contradictions)


@given(VALUES)
def test_a_tree_is_what_yaml_wrote(value: object) -> None:
    text = yaml.dump({"it": value}, default_flow_style=False, sort_keys=False)
    assert CstpYaml().read(text.encode("utf-8", "surrogatepass")) == {"it": plain(value)}
