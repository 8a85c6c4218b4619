"""Labels, case folders and ground truths to scenarios: what is expected, what an agent is given, what is refused."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from instruments.errors import BadFixtures, FixtureFault
from instruments.evals.benchmarks import (
    Case,
    itbench,
    opsbench_folder,
    opsbench_labels,
    read_cases,
)
from instruments.evals.benchmarks.opsbench_labels import common_tools
from instruments.evals.suite.loader import load
from instruments.evals.suite.writer import write_scenario
from tests.instruments.evals.labels import (
    LABEL,
    METADATA,
    TRUTH,
    Json,
    case,
    lines,
    trace,
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def labelled(**changes: Any) -> Case:  # noqa: ANN401 - whatever a file may say
    return case(next(opsbench_labels.decode(lines(LABEL | changes), "labels.jsonl")))


def fault(body: bytes) -> str:
    (found,) = opsbench_labels.decode(body, "labels.jsonl")
    assert isinstance(found, FixtureFault)
    return str(found)


def test_a_label_says_what_is_expected_and_no_fix() -> None:
    found = labelled()
    expected = found.description["expected_outcomes"]
    assert found.id == "shop/startup/7"
    assert {key: found.description[key] for key in ("name", "family", "failure_type", "source")} == {
        "name": "shop/startup/7", "family": "startup", "failure_type": "missing_config_map", "source": "opsbench",
    }  # fmt: skip
    assert list(expected) == ["root_cause", "failure_mode", "next_steps"]
    assert [len(one["patterns"]) for one in expected["root_cause"]["all_of"]] == [1, 1]
    assert expected["failure_mode"] == {"exact": ["Startup_Fault", "missing_config_map"]}
    assert expected["next_steps"] == {"command_types": ["GetPods", "GetLogs"]}


def test_an_agent_is_given_the_symptom_and_nothing_of_the_truth() -> None:
    given = labelled().investigation
    assert given["alert"]["labels"] == {"alertname": "Checkout is down", "namespace": "shop"}
    assert given["alert"]["annotations"] == {"summary": "Checkout is down."}
    assert given["target"] == {"target_type": "unknown", "namespace": "shop"}
    text = json.dumps(given).lower()
    assert not any(word in text for word in ("startup", "cart", "config", "missing", "getpods", "describe", "shop/"))


@pytest.mark.parametrize(
    ("paths", "shared"),
    [
        ([], ()),
        ([["a", "b", "a"]], ("a", "b")),
        ([["a", "b"], ["b", "c"]], ("b",)),
        ([["a"], ["b"]], ()),
        ([["a"], []], ()),
        ([["c", "a", "b"], ["b", "a", "c"], ["c", "b"]], ("c", "b")),
    ],
)
def test_only_what_every_golden_path_uses_is_expected(paths: list[list[str]], shared: tuple[str, ...]) -> None:
    assert common_tools(paths) == shared


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"process": None}, ["root_cause", "failure_mode"]),
        ({"process": {"path1": ["a::x"], "path2": ["b"]}}, ["root_cause", "failure_mode"]),
        ({"fault_taxonomy": None}, ["root_cause", "failure_mode", "next_steps"]),
    ],
)
def test_where_there_is_no_truth_nothing_is_expected(change: Json, left: list[str]) -> None:
    assert list(labelled(**change).description["expected_outcomes"]) == left


def test_a_label_without_an_object_expects_the_cause_alone() -> None:
    assert len(labelled(fault_object=None).description["expected_outcomes"]["root_cause"]["all_of"]) == 1


def test_the_taxonomy_names_the_family_where_there_is_no_category() -> None:
    assert labelled(category=None, fault_taxonomy="Service_Routing_Fault").description["family"] == "service_routing"
    assert labelled(category=None, fault_taxonomy="Fault").description["family"] == "Fault"
    assert "family" not in labelled(category=None, fault_taxonomy=None).description


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "labels.jsonl, line 1 is not JSON: input data was truncated. Write it as JSON"),
        (b'{"id": "a", "id": "b"}', "labels.jsonl, line 1 has the key 'id' twice. Keep one"),
        (b"[NaN]", "labels.jsonl, line 1 is not JSON: NaN, which is not a number"),
        (b"{} {}", "labels.jsonl, line 1 is not JSON: trailing characters"),
        (b"[1]", "labels.jsonl, line 1 is not what it should be: expected `object`, got `array`"),
        (
            b'\n\n{"id": 3}',
            "labels.jsonl, line 3: id is not what it should be: expected `string`, got `number`. Correct",
        ),
        (
            lines({key: LABEL[key] for key in LABEL if key != "root_cause"}),
            "line 1: root_cause is required and missing",
        ),
        (lines(LABEL | {"query": " "}), "line 1: query is not what it should be"),
        (lines(LABEL | {"root_cause": "--"}), "line 1: root_cause has no word: '--'. Name the cause in words"),
        (lines(LABEL | {"root_cause": "a_" * 120}), "line 1: root_cause has 120 words in one name. Name it in a few"),
        (lines(LABEL | {"fault_object": "app/"}), "line 1: fault_object has 0 characters"),
        (lines(LABEL | {"fault_taxonomy": "***"}), "line 1: fault_taxonomy has no word: '***'"),
        (lines(LABEL | {"process": {"path1": ["a", "::x"]}}), "line 1: process.path1[1] names no tool: '::x'"),
        (lines(LABEL | {"process": {"path1": "a"}}), "line 1: process[...] is not what it should be"),
        (b"\xff{}", "line 1 is not JSON"),
    ],
)
def test_a_faulty_line_is_reported_with_its_number_its_key_and_what_to_do(body: bytes, said: str) -> None:
    assert said in fault(body)


def test_blank_lines_and_a_byte_order_mark_are_left_out() -> None:
    body = b"\xef\xbb\xbf\r\n" + lines(LABEL).replace(b"\n", b"\r\n") + b" \n" + lines(LABEL | {"id": "b"})
    assert [case(one).where for one in opsbench_labels.decode(body, "x")] == ["x, line 2", "x, line 4"]


@given(st.binary(max_size=400))
def test_any_bytes_are_cases_or_faults(body: bytes) -> None:
    assert all(isinstance(one, Case | FixtureFault) for one in opsbench_labels.decode(body, "x"))
    found = opsbench_folder.decode({"metadata.json": body, "path1.json": body}, "a", "x")
    assert isinstance(found, Case) or all(isinstance(one, FixtureFault) for one in found)
    assert isinstance(itbench.decode(body, "a", "x"), Case | FixtureFault)


@given(st.dictionaries(st.sampled_from(sorted(LABEL)), anything | st.text(max_size=30)))
@settings(max_examples=60)
def test_any_label_loads_as_it_was_meant_or_is_a_fault(tmp_path_factory: pytest.TempPathFactory, label: Json) -> None:
    _loads_or_is_a_fault(next(opsbench_labels.decode(lines(LABEL | label), "x")), tmp_path_factory.mktemp("any"))


@given(
    st.dictionaries(st.sampled_from(sorted(METADATA["result"])), anything | st.text(max_size=30)), anything, anything
)
@settings(max_examples=60)
def test_any_case_folder_loads_or_is_a_fault(
    tmp_path_factory: pytest.TempPathFactory, result: Json, process: object, output: object
) -> None:
    metadata = METADATA | {"result": METADATA["result"] | result} | ({} if process is None else {"process": process})
    found = opsbench_folder.decode(
        {"metadata.json": lines(metadata), "path1.json": trace(("GetPods", output))}, "a", "x"
    )
    _loads_or_is_a_fault(found if isinstance(found, Case) else found[0], tmp_path_factory.mktemp("any"))


@given(st.dictionaries(st.sampled_from(sorted(TRUTH)), anything), st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=60)
def test_any_ground_truth_loads_or_is_a_fault(
    tmp_path_factory: pytest.TempPathFactory, changes: Json, condition: str, action: str
) -> None:
    truth = json.loads(json.dumps(TRUTH)) | changes
    if "fault" not in changes:
        truth["fault"][1]["condition"] = condition
    if "recommended_actions" not in changes:
        truth["recommended_actions"][0]["solution"]["actions"] = [action]
    body = yaml.safe_dump(truth).encode()
    _loads_or_is_a_fault(itbench.decode(body, "a", "x"), tmp_path_factory.mktemp("any"))


def _loads_or_is_a_fault(found: Case | FixtureFault, into: Path) -> None:
    """Write a case and load it: the loader returns the same case, or reports every fault in it."""
    if isinstance(found, FixtureFault):
        assert found.problem
        assert found.advice
        return
    write_scenario(into / "one", found.description, found.investigation, found.readme)
    try:
        (loaded,) = load(into).scenarios
    except BadFixtures:
        return
    about = loaded.about
    assert (about.name, about.failure_type) == (found.description["name"], found.description.get("failure_type"))
    assert json.loads(msgspec.json.encode(about.expected_outcomes)) == found.description["expected_outcomes"]
    assert {**loaded.investigation, "analysis": {}} == found.investigation


def test_a_case_folder_gives_what_tools_answered_and_not_which_tools() -> None:
    files = {
        "metadata.json": lines(METADATA),
        "path1.json": trace(("GetPods", "cart is waiting"), ("Describe", ["no config map"]), ("GetPods", "")),
        "path2.json": trace(("GetPods", "cart is waiting"), ("GetLogs", {"lines": 2})),
    }
    found = case(opsbench_folder.decode(files, "shop-7", "shop-7"))
    observed = found.investigation["evidence"]["observations"]
    assert sorted(map(str, observed)) == ["['no config map']", "cart is waiting", "{'lines': 2}"]
    swapped = files | {"path1.json": files["path2.json"], "path2.json": files["path1.json"]}
    assert case(opsbench_folder.decode(swapped, "shop-7", "shop-7")).investigation == found.investigation
    assert not any(tool in json.dumps(found.investigation) for tool in ("GetPods", "Describe", "GetLogs"))
    assert found.description["expected_outcomes"]["next_steps"] == {"command_types": ["GetPods"]}
    assert found.description["family"] == "startup"


def test_a_case_folder_with_a_tool_cache_gives_what_every_call_answers() -> None:
    cache = {
        "collection_timestamp": "2025-11-28T15:33:20",
        'GetPods:{"namespace":"shop"}': "cart is waiting",
        'GetLogs:{"name":"web"}': ["refused"],
        'GetLogs:{"name":"cart"}': ["refused"],
        "GetEvents:{}": "",
    }
    files = {"metadata.json": lines(METADATA), "path1.json": trace(("Describe", "no config map"))}
    assert case(opsbench_folder.decode(files, "a", "a")).golden_evidence
    found = case(opsbench_folder.decode(files | {"tool_cache.json": lines(cache)}, "a", "a"))
    assert not found.golden_evidence
    assert sorted(map(str, found.investigation["evidence"]["observations"])) == ["['refused']", "cart is waiting"]
    assert found.description["expected_outcomes"]["next_steps"] == {"command_types": ["Describe"]}


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        (b"[]", "x/tool_cache.json is not what it should be: expected `object`, got `array`"),
        (b"{", "x/tool_cache.json is not JSON"),
        (b'{"collection_timestamp": "2025"}', "x/tool_cache.json has no call of a tool, such as GetResources:{...}"),
    ],
)
def test_a_faulty_tool_cache_is_reported_with_its_file(cache: bytes, said: str) -> None:
    files = {"metadata.json": lines(METADATA), "tool_cache.json": cache}
    found = opsbench_folder.decode(files, "a", "x")
    assert isinstance(found, list)
    assert [said in str(one) for one in found] == [True]


def test_a_case_folder_follows_the_paths_its_metadata_names() -> None:
    metadata = METADATA | {"process": {"path1": ["Describe::cart"], "path2": ["Describe"]}}
    files = {"metadata.json": lines(metadata), "path1.json": trace(("GetPods", "x"))}
    assert case(opsbench_folder.decode(files, "a", "a")).description["expected_outcomes"]["next_steps"] == {
        "command_types": ["Describe"]
    }


def test_every_fault_of_a_case_folder_is_reported_with_its_file() -> None:
    files = {"metadata.json": b"{}", "path1.json": b"[", "path2.json": b'{"diagnostic_trace": [{}]}'}
    found = opsbench_folder.decode(files, "a", "cases/a")
    assert isinstance(found, list)
    assert [(one.file, one.key) for one in found] == [
        ("cases/a/metadata.json", "query"),
        ("cases/a/path1.json", None),
        ("cases/a/path2.json", "diagnostic_trace[0].tool_name"),
    ]


def truth(**changes: Any) -> Case:  # noqa: ANN401 - whatever a file may say
    return case(itbench.decode(json.dumps(TRUTH | changes).encode(), "flags", "truth.yaml"))


def test_a_ground_truth_expects_its_root_cause_the_first_link_and_a_solution() -> None:
    found = truth()
    expected = found.description["expected_outcomes"]
    assert list(expected) == ["root_cause", "hypotheses", "proposed_fix"]
    assert [["flags" in p or "cart" in p for p in one["patterns"]] for one in expected["root_cause"]["all_of"]] == [
        [True],
        [True],
    ]
    said = " ".join(pattern for one in expected["hypotheses"]["any_of"] for pattern in one["patterns"])
    assert "cart" in said
    assert "error" in said
    assert "idle" not in said
    assert (found.description["family"], found.description["failure_type"]) == ("HighErrorRate", "Setting")


def test_an_agent_is_given_the_alerts_without_the_story() -> None:
    given = truth().investigation
    assert given["alert"]["labels"] == {"alertname": "HighErrorRate", "namespace": "shop", "service": "web"}
    assert given["evidence"] == {
        "alerts": [{"labels": {"alertname": "NoRequests", "namespace": "shop", "service": "pay"}}]
    }
    assert "cart" not in json.dumps(given)
    assert "flags" not in json.dumps(given)


def test_without_recommended_actions_no_fix_is_expected() -> None:
    assert "proposed_fix" not in truth(recommended_actions=[]).description["expected_outcomes"]
    again = truth(recommended_actions=[], recommendedActions=TRUTH["recommended_actions"])
    assert again.description["expected_outcomes"] == truth().description["expected_outcomes"]


def test_a_root_cause_is_named_by_any_of_its_aliases() -> None:
    groups = [*TRUTH["groups"], {"id": "store-1", "kind": "Pod", "filter": ["store-.*"]}]
    found = truth(groups=groups, aliases=[["x", "store-1"], ["flags-1", "x"]])
    names = found.description["expected_outcomes"]["root_cause"]["all_of"][0]["patterns"]
    assert [any(name in pattern for pattern in names) for name in ("flags", "store", "web")] == [True, True, False]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"a: [", "truth.yaml is not YAML: line 2"),
        (b"x: 1", "truth.yaml: groups is required and missing"),
        (b"!!python/object:os.system {}", "truth.yaml cannot be read: line 1: the tag"),
        (json.dumps(TRUTH | {"groups": []}).encode(), "groups has none with root_cause: true"),
        (json.dumps(TRUTH | {"alerts": []}).encode(), "alerts is empty"),
        (json.dumps(TRUTH | {"groups": [{"id": "a", "root_cause": True}]}).encode(), "has neither a name nor a filter"),
        (
            json.dumps(TRUTH | {"groups": [{"id": "a", "root_cause": True, "filter": ["(web"]}]}).encode(),
            "groups.filter is not a regular expression",
        ),
    ],
)
def test_a_faulty_ground_truth_is_reported_with_its_key(body: bytes, said: str) -> None:
    found = itbench.decode(body, "a", "truth.yaml")
    assert isinstance(found, FixtureFault)
    assert said in str(found)


def test_cases_are_found_in_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_bytes(lines(LABEL))
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metadata.json").write_bytes(lines(METADATA))
        (tmp_path / name / "groundtruth.yaml").write_text(yaml.safe_dump(TRUTH))
    (tmp_path / "a" / "groundtruth_v1.yaml").write_text(yaml.safe_dump(TRUTH))
    (tmp_path / "none").mkdir()

    def ids(kind: Any, path: Path) -> list[str]:  # noqa: ANN401 - one of the formats
        return [case(one).id for one in read_cases(kind, path)]

    assert ids("opsbench", tmp_path / "labels.jsonl") == ["shop/startup/7"]
    assert ids("case", tmp_path) == ["a", "b"] == ids("itbench", tmp_path)
    assert ids("case", tmp_path / "a") == ["a"] == ids("itbench", tmp_path / "a" / "groundtruth_v1.yaml")
    assert [case(one).where for one in read_cases("itbench", tmp_path / "a")] == [
        str(tmp_path / "a" / "groundtruth_v1.yaml")
    ]


@pytest.mark.parametrize("kind", ["opsbench", "case", "itbench"])
def test_a_path_without_cases_is_reported(tmp_path: Path, kind: Any) -> None:  # noqa: ANN401 - one of the formats
    empty = tmp_path / "labels.jsonl"
    empty.write_bytes(b"\n")
    for path in (tmp_path, tmp_path / "gone", empty):
        (found,) = read_cases(kind, path)
        assert isinstance(found, FixtureFault)
        assert found.file == str(path)
