"""Real labelled cases, from the files to the scoreboard: agents that are commands, and both baselines."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.api.cli.command import Ended, done, tally
from tests.instruments.evals.labels import (
    CASES,
    ITBENCH,
    LABELS,
    RCA,
    Json,
)
from tests.instruments.evals.replaying import (
    agent,
    analysis,
    first_path,
    reveal,
    second_path,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RCA.is_dir(), reason="the labelled cases are not beside this checkout"),
]


def labels() -> list[Json]:
    return [json.loads(line) for line in LABELS.read_bytes().splitlines()]


def evaluated(ledger: Path, suite: Path, command: str, name: str, *options: str) -> Ended:
    words = ("--agent", command, "--agent-name", name, "--agent-version", "1", "--jobs", "2", *options, "--json")
    return tally(ledger, "eval", "run", suite, *words)


def board(ledger: Path, suite: str) -> dict[str, Json]:
    """The rows of a suite on the scoreboard, by agent or baseline."""
    suites = json.loads(done(ledger, "scoreboard", "--json").out)["suites"]
    (rows,) = (one["rows"] for one in suites if one["suite"] == suite)
    return {row.get("baseline") or row["agent"]: row for row in rows}


def test_328_labelled_cases_stand_on_the_board_with_both_baselines(tmp_path: Path) -> None:
    ledger, suite = tmp_path / "t.db", tmp_path / "cloud"
    done(ledger, "eval", "import", "opsbench", LABELS, "--output", suite)
    reveal(suite)
    command = agent(tmp_path, {label["id"].replace("/", "-"): first_path(label) for label in labels()})
    ended = evaluated(ledger, suite, command, "golden")
    assert ended.code == 0, ended.err
    run = json.loads(ended.out)
    assert (run["scored"], run["passed"], run["mean"]) == (328, 328, 100.0)
    rows = board(ledger, "cloud")
    assert set(rows) == {"golden", "empty", "most_frequent"}
    assert (rows["golden"]["mean"], rows["golden"]["pass_rate"]) == (100.0, 1.0)
    assert (rows["empty"]["mean"], rows["empty"]["pass_rate"]) == (0.0, 0.0)
    assert rows["most_frequent"]["mean"] == pytest.approx(guessed(labels()), abs=1e-6)
    assert rows["most_frequent"]["pass_rate"] == pytest.approx(29 / 328)
    assert {row["scenarios"] for row in rows.values()} == {328}
    assert {row["errors"] for row in rows.values()} == {0}


def test_an_agent_that_knows_every_published_case_passes_as_many_as_the_import_says(tmp_path: Path) -> None:
    """It answers each input with the cause and the object that most published cases with this symptom have."""
    ledger, suite = tmp_path / "t.db", tmp_path / "cloud"
    said = json.loads(done(ledger, "eval", "import", "opsbench", LABELS, "--output", suite, "--json").out)
    assert (said["inputs"], said["truths"], said["ambiguous"], said["answerable"]) == (8, 235, 328, 20)
    by_symptom: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for label in labels():
        by_symptom[f"{label['query']} {label['namespace']}"][f"{label['root_cause']} {label['fault_object']}"] += 1
    answers = {}
    for symptom, known in by_symptom.items():
        cause, _, blamed = known.most_common(1)[0][0].partition(" ")
        answers[symptom] = analysis(
            cause, blamed.partition("/")[2], sorted({tool for one in labels() for tool in shared(one)})
        )
    command = agent(tmp_path, answers, "given['alert']['annotations']['summary'] + ' ' + given['target']['namespace']")
    ended = evaluated(ledger, suite, command, "look-up", "--no-baselines")
    run = json.loads(ended.out)
    assert (run["scored"], run["passed"]) == (328, said["answerable"])


def guessed(known: list[Json]) -> float:
    """What the most frequent cause every time is worth, worked out of the labels alone.

    The guess says all that is expected of the cases that have this cause, so that these are right as a whole. Of the
    others it has no root cause; it states their taxonomy where it is the same one, and else 40 points for a hypothesis;
    and of their tools those that are its own, too.
    """
    (cause, right), *_ = Counter(label["root_cause"] for label in known).most_common(1)
    assert (cause, right) == ("pod_network_delay", 29)
    alike = [label for label in known if label["root_cause"] == cause]
    tools = {tool for label in alike for tool in shared(label)}
    taxonomies = {label["fault_taxonomy"] for label in alike}

    def points(label: Json) -> float:
        hypotheses = 100 if label["fault_taxonomy"] in taxonomies else 40
        steps = 100 * len(shared(label) & tools) / len(shared(label))
        root_cause = 100 if label["root_cause"] == cause else 0
        return (0.4 * root_cause + 0.2 * hypotheses + 0.1 * steps) / 0.7

    return sum(map(points, known)) / len(known)


def shared(label: Json) -> set[str]:
    """The tools of both golden paths."""
    first, second = ({call.partition("::")[0] for call in path} for path in label["process"].values())
    return first & second


def test_the_golden_cases_and_the_ground_truth_pass_as_commands_and_fail_empty(tmp_path: Path) -> None:
    ledger, suite = tmp_path / "t.db", tmp_path / "real"
    done(ledger, "eval", "import", "case", CASES, "--output", suite)
    done(ledger, "eval", "import", "itbench", ITBENCH, "--output", suite)
    reveal(suite)
    answers = {
        ITBENCH.name: {
            "rca": {
                "root_cause": "kafkaQueueProblems is set in the ConfigMap flagd-config",
                "remediation": ["Disable kafkaQueueProblems in the flagd configuration"],
            },
            "hypotheses": [{"title": "The feature flag kafkaQueueProblems is on", "confidence_0_100": 90}],
        }
    }
    for follow in (first_path, second_path):
        for folder in CASES.iterdir():
            metadata = json.loads((folder / "metadata.json").read_bytes())
            answers[folder.name] = follow(metadata["result"] | {"process": metadata["process"]})
        ended = evaluated(ledger, suite, agent(tmp_path, answers), follow.__name__)
        assert ended.code == 0, ended.err
    silent = evaluated(ledger, suite, agent(tmp_path, {key: {} for key in answers}), "silent")
    assert silent.code == 1
    assert json.loads(silent.out)["mean"] == 0.0
    rows = board(ledger, "real")
    assert {name: row["mean"] for name, row in rows.items() if name != "most_frequent"} == {
        "first_path": 100.0, "second_path": 100.0, "silent": 0.0, "empty": 0.0,
    }  # fmt: skip
