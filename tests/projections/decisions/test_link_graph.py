"""The links projection against a plain list of links: what replaces what, walks, and what is superseded."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from events.link import DecisionLinked, LinkType
from projections.decisions import link_graph as link_graph_module
from projections.decisions.link_graph import DIRECTIONS, UNSTATED_WEIGHT, Direction, GraphLink, LinkGraph, LinkSelection
from tests.projections.drafts import link, record, retract
from tests.projections.random_histories import LINK_TYPES, LINKED, events_of, histories

selections = st.builds(
    LinkSelection, st.sampled_from(DIRECTIONS), st.lists(st.sampled_from(LINK_TYPES), unique=True).map(tuple)
)


def folded(drafts: Sequence[Draft]) -> LinkGraph:
    projection = LinkGraph()
    projection.fold(events_of(drafts))
    return projection


def links_in(drafts: Sequence[Draft]) -> list[GraphLink]:
    """The links in force, in the order in which their first statements came."""
    links: dict[tuple[str, str, LinkType], GraphLink] = {}
    for event in events_of(drafts):
        if isinstance(data := event.data, DecisionLinked):
            key = (data.source_id, data.target_id, data.edge_type)
            links[key] = GraphLink(*key, data.weight, event.position)
    return list(links.values())


def near(links: Sequence[GraphLink], name: str, selection: LinkSelection) -> dict[GraphLink, str]:
    """The links that may be followed from a decision, each with its other end."""
    found = {}
    for one in links:
        if selection.types and one.edge_type not in selection.types:
            continue
        if selection.direction != "incoming" and one.source_id == name:
            found[one] = one.target_id
        if selection.direction != "outgoing" and one.target_id == name:
            found[one] = one.source_id
    return found


@settings(max_examples=60, deadline=None)
@given(histories(60), st.sampled_from(LINKED), selections, st.integers(1, 5))
def test_walks_and_neighbours_are_those_of_a_list_of_links(
    drafts: list[Draft], name: str, selection: LinkSelection, depth: int
) -> None:
    graph, links = folded(drafts), links_in(drafts)
    assert len(graph) == len(links)
    stated = [UNSTATED_WEIGHT if one.weight is None else one.weight for one in graph.links_of(name, selection)]
    assert stated == sorted(stated, reverse=True)
    assert set(graph.links_of(name, selection)) == set(near(links, name, selection))
    reached, seen = {name}, set()
    for _ in range(depth):
        for found in [near(links, one, selection) for one in reached]:
            seen |= set(found)
            reached = reached | set(found.values())
    walked = graph.walk(name, depth, selection, 1000)
    assert (set(walked.decisions), set(walked.links), walked.total) == (reached, seen, len(seen))
    assert len(walked.links) == len(set(walked.links))
    assert walked.decisions[0] == name
    few = graph.walk(name, depth, selection, 1)
    assert (few.links, few.total) == (walked.links[:1], walked.total)
    assert LinkGraph.decode(graph.encode()).encode() == graph.encode()
    incoming = [one for one in links if one.target_id == name]
    outgoing = [one for one in links if one.source_id == name]
    assert graph.degrees(name) == (len(incoming), len(outgoing))


def test_a_link_between_the_same_two_of_the_same_type_replaces_the_earlier_one() -> None:
    graph = folded([
        link("a", "b", weight=0.2), link("a", "b", "supersedes"), link("a", "b", weight=0.9), link("b", "a"),
    ])  # fmt: skip
    assert len(graph) == 3
    assert graph.links_of("a", LinkSelection("outgoing")) == [
        GraphLink("a", "b", "relates_to", 0.9, 3), GraphLink("a", "b", "supersedes", None, 2),
    ]  # fmt: skip
    assert graph.summary() == {
        "links": 3, "decisions": 2, "by_type": {"relates_to": 2, "supersedes": 1, "depends_on": 0},
    }  # fmt: skip


def test_a_retracted_decision_supersedes_nothing() -> None:
    drafts = [record("old"), record("new"), record("newer"), link("new", "old", "supersedes")]
    drafts += [link("newer", "old", "supersedes"), link("newer", "old", "depends_on")]
    assert folded(drafts).superseded_by("old", 6) == ("new", "newer")
    assert folded(drafts).superseded_by("old", 4) == ("new",)
    assert folded(drafts).superseded_by("new", 6) == folded(drafts).superseded_by("unknown", 6) == ()
    assert folded([*drafts, retract("new")]).superseded_by("old", 7) == ("newer",)


@pytest.mark.parametrize(("direction", "expected"), [("outgoing", "abcdef"), ("incoming", "a"), ("both", "abcdef")])
def test_a_walk_goes_five_steps(direction: Direction, expected: str) -> None:
    graph = folded([link(one, other) for one, other in zip("abcdef", "bcdefg", strict=True)])
    assert graph.walk("a", 5, LinkSelection(direction), 100).decisions == list(expected)


def test_a_walk_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_graph_module, "LINKS_MAX", 3)
    graph = folded([link(one, other) for one, other in zip("abcdef", "bcdefg", strict=True)])
    assert graph.walk("a", 5, LinkSelection(), 100).total == 3
