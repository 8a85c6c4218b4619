"""Agents that answer labelled cases: by a golden path, with something wrong in it, or always alike."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.instruments.evals.labels import Json

Answer = Callable[[Json], Json]

_SCRIPT = """
import json, sys
answers = json.load(open(sys.argv[1], encoding="utf-8"))
given = json.load(sys.stdin)
print(json.dumps(answers[KEY]))
"""


def agent(folder: Path, answers: dict[str, Json], key: str = "given['case']") -> str:
    """A command that answers what was made up for a key of its input: by default the name that `reveal` wrote."""
    (folder / "agent.py").write_text(_SCRIPT.replace("KEY", key), encoding="utf-8")
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    return f"{sys.executable} -S -E {folder / 'agent.py'} {folder / 'answers.json'}"


def reveal(suite: Path) -> None:
    """Write the folder's name into each investigation: an import gives an agent nothing to know the case by."""
    for file in suite.glob("*/investigation.json"):
        file.write_text(json.dumps({**json.loads(file.read_bytes()), "case": file.parent.name}), encoding="utf-8")


def analysis(cause: str, name: str, tools: Sequence[str], said: str = "{cause} of {name}") -> Json:
    """An answer that names a cause and an object, and goes on with tools."""
    return {
        "rca": {"root_cause": said.format(cause=cause, name=name)},
        "hypotheses": [{"hypothesis_id": "h1", "title": cause, "confidence_0_100": 90}],
        "decision": {"next": list(tools)},
    }


def spaced(label: Json) -> str:
    return str(label["root_cause"]).replace("_", " ")


def object_of(label: Json) -> str:
    return str(label["fault_object"]).partition("/")[2]


def calls(label: Json, path: str) -> list[str]:
    """The golden calls of a path, as an agent would write them."""
    return [" ".join(call.split("::")) for call in label["process"][path]]


def first_path(label: Json) -> Json:
    """Who followed the first path, and writes as people do."""
    return analysis(spaced(label), object_of(label), calls(label, "path1"))


def second_path(label: Json) -> Json:
    """Who followed the second path, and writes as programs do, of a pod where there is one."""
    cause = "".join(word.capitalize() for word in label["root_cause"].split("_"))
    kind, _, name = label["fault_object"].partition("/")
    return analysis(cause, f"{name}-7b5ff9bbd7-r2s5r" if kind == "app" else name, calls(label, "path2"))


def wrong_object(labels: Sequence[Json]) -> Answer:
    """An agent that names the right cause, and blames the object of another case."""
    objects = sorted({object_of(label) for label in labels})

    def answer(label: Json) -> Json:
        other = next(name for name in objects if name != object_of(label))
        return analysis(spaced(label), other, calls(label, "path1"))

    return answer


def wrong_cause(labels: Sequence[Json]) -> Answer:
    """An agent that blames the right object, and names another cause of the same taxonomy."""
    causes = defaultdict(set)
    for label in labels:
        causes[label["fault_taxonomy"]].add(spaced(label))

    def answer(label: Json) -> Json:
        other = next(cause for cause in sorted(causes[label["fault_taxonomy"]]) if cause != spaced(label))
        return analysis(other, object_of(label), calls(label, "path1"))

    return answer


def denial(label: Json) -> Json:
    """Who names cause and object, to say that it was not that."""
    return analysis(spaced(label), object_of(label), calls(label, "path1"), "It is not a {cause} of {name}")


def most_frequent(labels: Sequence[Json]) -> str:
    """The cause that most cases have."""
    return str(Counter(label["root_cause"] for label in labels).most_common(1)[0][0])
