"""Benchmarks in each format, with labels, ids and orders that a test chooses, and the inputs that an import makes."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import strategies as st

from instruments.evals.agent import build_question
from instruments.evals.benchmarks import Format, folder_name, read_cases
from instruments.evals.suite.loader import load
from instruments.evals.suite.writer import write_scenario
from tests.instruments.evals.labels import Json, case, lines, trace

FORMATS: tuple[Format, ...] = ("opsbench", "case", "itbench")

CAUSES = ("missing_config_map", "pod_network_delay", "oom_killed", "wrong_image", "full_disk")
OBJECTS = ("app/cart", "app/pay", "app/web", "node/n7", "db")
TAXONOMIES = ("Startup_Fault", "Runtime_Fault", "Performance_Fault")
TOOLS = ("GetPods", "Describe", "GetLogs", "GetEvents", "GetNodes")
SYMPTOMS = ("Checkout is down.", "Pages are slow.", "Orders fail.")

SEEN = {
    'GetPods:{"namespace":"shop"}': "NAME READY\nweb-1 0/1\ncart-1 1/1",
    'Describe:{"name":"web-1"}': "Back-off restarting failed container",
    'GetLogs:{"name":"web-1"}': ["connection refused", "connection refused"],
    "GetEvents:{}": "",
}
"""What the tools of a case folder answer."""


class Truth(NamedTuple):
    """The label of a case: everything that an agent has to find out."""

    cause: str
    object: str
    taxonomy: str
    tools: tuple[str, ...]
    root: int
    """The group that is the root cause, in the ITBench format."""


class Published(NamedTuple):
    """A case: its id, its label, and the symptom that people saw."""

    id: str
    truth: Truth
    symptom: str = SYMPTOMS[0]


truths = st.builds(
    Truth,
    cause=st.sampled_from(CAUSES),
    object=st.sampled_from(OBJECTS),
    taxonomy=st.sampled_from(TAXONOMIES),
    tools=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=8).map(tuple),
    root=st.integers(0, 3),
)
ids = st.from_regex(r"[a-z]{1,6}/(startup|runtime)/[0-9]{1,3}", fullmatch=True)


def publish(kind: Format, folder: Path, cases: Sequence[Published], order: int = 0) -> Path:
    """Write cases as a benchmark does, in an order that a number decides; the path to import."""
    chance = random.Random(order)
    shuffled = chance.sample(cases, len(cases))
    if kind == "opsbench":
        file = folder / "labels.jsonl"
        file.write_bytes(lines(*map(_label, shuffled)))
        return file
    for one in shuffled:
        inner = folder / folder_name(one.id)
        inner.mkdir()
        files = _case_folder(one) if kind == "case" else {"groundtruth_v1.yaml": _ground_truth(one, chance)}
        for name, body in files.items():
            (inner / name).write_bytes(body)
    return folder


def _label(one: Published) -> Json:
    truth = one.truth
    return {
        "id": one.id,
        "category": truth.taxonomy.partition("_")[0].lower(),
        "namespace": "shop",
        "query": one.symptom,
        "fault_taxonomy": truth.taxonomy,
        "fault_object": truth.object,
        "root_cause": truth.cause,
        "process": {"path1": [f"{tool}::{truth.object}" for tool in truth.tools], "path2": list(truth.tools[:1])},
    }


def _case_folder(one: Published) -> dict[str, bytes]:
    label = _label(one)
    result = {key: label[key] for key in ("fault_taxonomy", "fault_object", "root_cause")}
    metadata = {"namespace": "shop", "query": one.symptom, "result": result}
    answers = list(SEEN.values())
    golden = [(tool, answers[number % len(answers)]) for number, tool in enumerate(one.truth.tools)]
    cache = {"collection_timestamp": f"2025-11-28T15:{len(one.id):02}:00", **SEEN}
    return {
        "metadata.json": json.dumps(metadata | {"process": label["process"]}).encode(),
        "tool_cache.json": json.dumps(cache).encode(),
        "path1.json": trace(*golden),
    }


def _ground_truth(one: Published, chance: random.Random) -> bytes:
    truth = one.truth
    kinds = (("Service", "web"), ("Service", "pay"), ("ConfigMap", "flags"), ("Pod", "cart"))
    group_ids = [f"{one.id}-{chance.randrange(10**6)}-{number}" for number in range(len(kinds))]
    groups = [
        {"id": group_id, "kind": kind, "name": name, "namespace": "shop", "root_cause": number == truth.root}
        for number, (group_id, (kind, name)) in enumerate(zip(group_ids, kinds, strict=True))
    ]
    alerts = [
        {"id": one.symptom.rstrip("."), "group_id": group_ids[0], "metadata": {"description": truth.cause}},
        {"id": "NoRequests", "group_id": group_ids[1]},
        {"id": "NoRequests", "group_id": group_ids[1]},
    ]
    condition = truth.cause.replace("_", " ")
    entity = {"name": kinds[truth.root][1], "group_id": group_ids[truth.root]}
    body = {
        "alerts": chance.sample(alerts, len(alerts)),
        "groups": chance.sample(groups, len(groups)),
        "aliases": [group_ids[:2]] if truth.root == 0 else [],
        "fault": [{"category": truth.taxonomy, "condition": condition, "entity": entity}],
        "propagations": [{"source": group_ids[truth.root], "target": group_ids[0], "condition": condition}],
        "recommended_actions": [{"solution": {"id": "1", "actions": [f"Repair the {condition}"]}}],
    }
    return json.dumps(body).encode()


def inputs(kind: Format, path: Path) -> dict[str, bytes]:
    """What an agent gets of each case in a path, by the id of the case, through the files of a suite."""
    cases = [case(found) for found in read_cases(kind, path)]
    with TemporaryDirectory() as folder:
        for one in cases:
            write_scenario(Path(folder, folder_name(one.id)), one.description, one.investigation, one.readme)
        return {scenario.about.name: build_question(scenario) for scenario in load(Path(folder)).scenarios}


def imported(kind: Format, cases: Sequence[Published], order: int = 0) -> dict[str, bytes]:
    """Publish cases and import them: what an agent gets of each, by the id of the case."""
    with TemporaryDirectory() as folder:
        by_name = inputs(kind, publish(kind, Path(folder), cases, order))
    return {one.id: by_name[one.id if kind == "opsbench" else folder_name(one.id)] for one in cases}
