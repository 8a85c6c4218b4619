"""One ledger, wherever one asks: every verb with --url, with TALLYSTICK_URL, and beside the server that holds the file.

A verb answers from the server that is named, or refuses to; it never answers from a file instead.
"""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.api.cli.capturing import INVESTIGATION, NAMED
from tests.api.cli.command import Ended, Value, done, environment
from tests.api.cli.evaluating import scenario
from tests.api.cli.lines import decided
from tests.api.cli.test_verbs import EVERY
from tests.instruments.evals.labels import LABEL
from tests.instruments.git.made_repository import MadeRepository
from tests.instruments.routers.simulated import said
from tests.recorded.old_ledger import unpack
from tests.support import warm_process
from tests.support.cstp_installation import decision, write_file
from tests.support.inspect_logs import as_json, capitals
from tests.support.paths import ROOT
from tests.support.run_reports import report, written
from tests.support.server import serving

Words = tuple[str, ...]

DIGEST = sha256(b"evidence of this test").hexdigest()

READS: dict[Words, list[tuple[Value, ...]]] = {
    ("calibration",): [
        (), ("--agent", "ada", "--detail", "curves", "--include", "trend,drift,comparison"), ("--as-of", 300),
        ("--group-by", "category", "--min-decisions", 2, "--since", "2026-06-01"), ("--as-of", 99_999),
    ],
    ("advice",): [("--agent", "bob", "--confidence", "0.9"), ("--agent", "ada", "--as-of", 60)],
    ("decisions",): [("--limit", 4), ("--search", "café slow", "--sort", "confidence"), ("--as-of", "then")],
    ("decision",): [("3f2a9c1e",), ("3f2a",), ("d0063", "--as-of", 300), ("d00",), ("none",), ("a/b",), ("..",)],
    ("graph",): [("d0063",), ("d006", "--depth", 2), ("d0063", "--as-of", 300), ("none",)],
    ("log",): [(), ("--limit", 3), ("--type", "decision.reviewed.v1", "--source", "ada", "--order", "desc"),
               ("--after", 99_999), ("--since", "2026-11-01", "--before", 300)],
    ("related",): [("trace-1",), ("none",)],
    ("status",): [],
    ("evidence", "list"): [(), ("--as-of", 590)],
    ("evidence", "get"): [("0" * 64,)],
    ("guardrail", "list"): [(), ("--retired",), ("--as-of", 590)],
    ("guardrail", "show"): [("none",), ("..",)],
    ("eval", "list"): [(), ("--suite", "incidents", "--limit", 2)],
    ("eval", "show"): [("eval-0",), ("eval-0", "--analyses"), ("eval-",), ("eval-3", "--as-of", 660), ("none",)],
    ("eval", "compare"): [("eval-0", "eval-1"), ("latest", "eval-1"), ("eval-0", "none")],
    ("eval", "gate"): [("--baseline", "eval-0", "--run", "eval-1"), ("--baseline", "latest", "--suite", "incidents"),
                       ("--baseline", "eval-1", "--run", "eval-0", "--min-score", 101 - 1, "--max-errors", 3)],
    ("eval", "suite", "list"): [(), ("--suite", "incidents", "--limit", 1), ("--as-of", 660)],
    ("eval", "suite", "show"): [("eval-0",), ("none",), ("eval-0", "disk-full"), ("eval-0", "--file", "a/b")],
    ("eval", "suite", "save"): [("eval-0", "--to", "saved"), ("none", "--to", "saved")],
    ("eval", "suite", "diff"): [("eval-0", "eval-1"), ("none", "eval-1")],
    ("eval", "export"): [("eval-0",), ("none",), ("eval-1", "--header", "a=b")],
    ("eval", "labels"): [(), ("--judge", "nobody", "--limit", 1)],
    ("judge", "report"): [(), ("--judge", "nobody")],
    ("scoreboard",): [(), ("--suite", "incidents", "--versions", 1)],
    ("run", "list"): [(), ("--limit", 1)],
    ("run", "show"): [("run-a",), ("run-a", "--attempts"), ("live", "--attempts"), ("run-",), ("none",)],
    ("changes",): [(), ("--agent", "unmarked")],
    ("tests",): [(), ("--state", "overdue"), ("--rule", "git.kep")],
    ("sessions",): [(), ("--program", "codex")],
    ("inventory",): [(), ("--model", "example-large"), ("--model", "nobody")],
    ("model", "list"): [(), ("--as-of", 590)],
    ("model", "profile"): [(), ("nova-1",), ("nobody",)],
    ("model", "wrapper", "list"): [(), ("--as-of", 590)],
    ("probe", "scores"): [(), ("--probe", "refactor-go")],
    ("probe", "analyze"): [("--response-file", "-")],
    ("breakers", "list"): [(), ("--as-of", 300)],
    ("projections",): [(), ("calibration", "--as-of", 100), ("none",)],
    ("checkpoint",): [()],
    ("receipt",): [(7,), (99_999,)],
    ("verify",): [],
    ("export",): [],
}  # fmt: skip
"""Verbs that only read, with arguments whose answers are compared. Those without have tests of their own below."""

FILE: dict[Words, tuple[Value, ...]] = {
    ("backup",): ("b.db",),
    ("restore",): ("b.db",),
    ("import", "ledger"): ("e.zip",),
    ("key", "show"): (),
    ("key", "make"): (),
    ("token", "add"): ("ann",),
    ("token", "list"): (),
    ("token", "revoke"): ("x",),
    ("witness",): ("--key", "w+1+A"),
    ("serve",): (),
    ("replay",): (),
    ("doctor",): (),
    ("ledger", "create"): (),
    ("ledger", "check"): (),
    ("ledger", "list"): (),
    ("webhook", "add"): ("https://example.com/hook",),
    ("webhook", "list"): (),
    ("webhook", "show"): ("x",),
    ("webhook", "remove"): ("x",),
    ("webhook", "test"): ("x",),
}
"""Verbs that work on a ledger file alone."""

SESSION = ROOT / "tests" / "instruments" / "sessions" / "gemini.json"
NOTHING: dict[Words, tuple[Value, ...]] = {
    ("schema",): (), ("probe", "list"): (), ("probe", "prompt"): (),
}  # fmt: skip
"""Verbs that need no ledger."""


class Scene(NamedTuple):
    """A served ledger, its server, and another ledger that no verb may answer from or write to."""

    served: Path
    url: str
    other: Path


def run(*words: Value, given: bytes = b"", **variables: str) -> Ended:
    """Run a command as it is typed, without an option before the verb."""
    ended = warm_process.run(list(map(str, words)), given, environment(**variables), ROOT, 120)
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    served = unpack(tmp_path_factory.mktemp("served"))
    other = tmp_path_factory.mktemp("other") / "other.db"
    done(other, "append", given=decided("only-here", confidence=0.5))
    done(served, "calibration")
    with serving(served) as url:
        httpx.get(f"{url}/decisions?search=cache").raise_for_status()  # the old index has no seal, and is made again
        yield Scene(served, url, other)


ANSWER = said("Aster 4").encode()
COMPARED = [(verb, arguments) for verb, found in READS.items() for arguments in found]


@pytest.mark.slow
@pytest.mark.trial("A2")
@pytest.mark.parametrize(("verb", "arguments"), COMPARED, ids=lambda part: " ".join(map(str, part)))
def test_a_verb_that_reads_answers_as_on_the_file(scene: Scene, verb: Words, arguments: tuple[Value, ...]) -> None:
    for words in ((*verb, *arguments), (*verb, *arguments, "--json")):
        local = run("--ledger", scene.served, *words, given=ANSWER)
        assert run("--ledger", scene.other, "--url", scene.url, *words, given=ANSWER) == local
        if verb == ("log",):
            named = run(*words, given=ANSWER, TALLYSTICK_URL=scene.url, TALLYSTICK_LEDGER=str(scene.other))
            assert named == local


@pytest.mark.slow
@pytest.mark.trial("A2")
def test_a_typed_ledger_wins_over_the_variable(scene: Scene) -> None:
    """The option is nearer than the environment, for every verb that reads."""
    for verb in READS.keys() - {("status",), ("verify",), ("export",)}:
        arguments = READS[verb][0]
        by_option = run(*verb, *arguments, "--ledger", scene.other, given=ANSWER, TALLYSTICK_URL="http://127.0.0.1:1")
        assert by_option == run(*verb, *arguments, given=ANSWER, TALLYSTICK_LEDGER=str(scene.other)), verb


@pytest.mark.slow
@pytest.mark.trial("A2")
def test_status_verify_and_export_are_of_the_server(scene: Scene, tmp_path: Path) -> None:
    variables = {"TALLYSTICK_URL": scene.url, "TALLYSTICK_LEDGER": str(scene.other)}
    count = json.loads(httpx.get(f"{scene.url}/status").content)["head"]["position"]
    assert count > 600
    for words, given in (((), variables), (("--url", scene.url), {"TALLYSTICK_LEDGER": str(scene.other)})):
        state = json.loads(run(*words, "status", "--json", given=b"", **given).out)
        assert (state["ledger"], state["head"]["position"]) == (scene.served.name, count)
        assert f"Nothing is wrong: {count} events" in run(*words, "verify", given=b"", **given).text
        output = tmp_path / f"{len(words)}.zip"
        assert run(*words, "export", "--output", output, given=b"", **given).text.startswith(
            f"{output}: {count} events, all"
        )
    assert "Nothing is wrong: 1 event," in run("verify", "--ledger", scene.other, given=b"", **variables).text
    output = tmp_path / "other.zip"
    assert ": 1 event, all" in run("export", "--ledger", scene.other, "--output", output, given=b"", **variables).text
    assert "Nothing is wrong: 1 event," in run("verify", output, given=b"", **variables).text


@pytest.mark.slow
@pytest.mark.trial("A2")
@pytest.mark.parametrize("verb", FILE, ids=" ".join)
def test_a_verb_that_works_on_a_file_refuses_a_server(scene: Scene, tmp_path: Path, verb: Words) -> None:
    ledger = tmp_path / "none.db"
    own_url = ("--url", "http://127.0.0.1:1") if verb == ("witness",) else ()
    command = " ".join(("tallystick", *verb))
    typed = run("--url", scene.url, "--ledger", ledger, *verb, *FILE[verb], *own_url)
    assert (typed.code, typed.out) == (2, b"")
    assert f"--url: {command} works on the ledger file and cannot ask a server." in typed.err
    named = run(*verb, *FILE[verb], *own_url, TALLYSTICK_URL=scene.url, TALLYSTICK_LEDGER=str(ledger))
    assert (named.code, named.out) == (2, b"")
    assert f"TALLYSTICK_URL: it names the server {scene.url}, and {command} works on a ledger file." in named.err
    assert "Name the file with --ledger, or unset TALLYSTICK_URL." in named.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.trial("A2")
def test_a_typed_ledger_allows_a_verb_that_works_on_a_file(scene: Scene, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    variables = {"TALLYSTICK_URL": "http://127.0.0.1:1"}
    assert (
        "Backed up and verified: 1 event" in run("--ledger", scene.other, "backup", copy, given=b"", **variables).text
    )
    assert run("replay", "--check", "--ledger", scene.other, given=b"", **variables).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("verb", NOTHING, ids=" ".join)
def test_a_verb_that_needs_no_ledger_needs_no_server(verb: Words) -> None:
    assert run(*verb, *NOTHING[verb], TALLYSTICK_URL="http://127.0.0.1:1").code == 0
    typed = run(*verb, *NOTHING[verb], "--url", "http://127.0.0.1:1")
    assert (typed.code, typed.out) == (2, b"")
    assert f"tallystick {' '.join(verb)} needs no ledger and no server." in typed.err


def _agent_answers(model: str) -> str:
    return f"command:{shlex.join([sys.executable, '-c', f'print({said(model)!r})'])}"


def _table(folder: Path) -> Path:
    path = folder / "table.csv"
    path.write_text(f"agent,decision,outcome\nx,{folder.name},1\n")
    return path


def _labels(folder: Path) -> Path:
    path = folder / "labels.jsonl"
    path.write_text(json.dumps(LABEL | {"id": folder.name}))
    return path


def _investigation(folder: Path) -> Path:
    path = folder / "investigation.json"
    path.write_text(json.dumps({**INVESTIGATION, "run": folder.name}))
    return path


def _rules(folder: Path) -> Path:
    path = folder / "rules.yaml"
    path.write_text(rule_file(folder))
    return path


def rule_file(folder: Path) -> str:
    """A rule of a folder, which fires on nothing else here."""
    return json.dumps({"id": folder.name, "condition_category": folder.name, "action": "warn"})


def _breakers(folder: Path) -> Path:
    path = folder / "circuit_breakers.yaml"
    path.write_text(json.dumps({"circuit_breakers": [{"scope": f"category:{folder.name}"}]}))
    return path


def _log(folder: Path) -> Path:
    made = capitals()
    made["eval"]["eval_id"] = folder.name
    return as_json(folder, made)


def _repository(folder: Path) -> Path:
    made = MadeRepository(folder / "made")
    made.change({"a.py": folder.name}, f"Begin {folder.name}", day=0)
    return made.path


def _pulls(folder: Path) -> Path:
    path = folder / "pulls.json"
    path.write_text(json.dumps({"number": 1, "createdAt": "2026-01-01T00:00:00Z"}), encoding="utf-8")
    return path


def _observers(folder: Path) -> Path:
    path = folder / "observers.toml"
    path.write_text('[commands.smoke]\nrun = ["true"]\n', encoding="utf-8")
    return path


def _results(folder: Path) -> Path:
    path = folder / "results.xml"
    path.write_text(f'<testsuite><testcase name="{folder.name}"/></testsuite>', encoding="utf-8")
    return path


def _session(folder: Path) -> Path:
    path = folder / "session.json"
    path.write_text(json.dumps(json.loads(SESSION.read_text(encoding="utf-8")) | {"sessionId": folder.name}))
    return path


def _cstp(folder: Path) -> Path:
    (folder / "cstp").mkdir()
    write_file(folder / "cstp", decision(sha256(folder.name.encode()).hexdigest()[:8]))
    return folder / "cstp"


Arguments = Callable[[Path], tuple[Value, ...]]

RETRACTED = {"typed": "d0060", "named": "d0061", "found": "d0062"}
"""A decision for each way to name the ledger: a decision can be retracted once."""

HOSTS = {"typed": "aider", "named": "amp", "found": "azure"}
"""A name of the default list of hosts for each way: a name can be removed once."""

WRITES: dict[Words, Arguments] = {
    ("record",): lambda folder: (folder.name,),
    ("resolve",): lambda folder: (),
    ("observe", "command"): lambda folder: ("--config", _observers(folder)),
    ("observe", "junit"): lambda folder: (_results(folder), "--name", "unit"),
    ("review",): lambda folder: ("d0063", "--outcome", "success", "--notes", folder.name),
    ("retract",): lambda folder: (RETRACTED[folder.name.rpartition("-")[2]], "--reason", "recorded twice"),
    ("link",): lambda folder: ("d0063", "d0064", "--edge-type", "relates_to", "--context", folder.name),
    ("append",): lambda folder: (),
    ("import", "decisions"): lambda folder: (_table(folder),),
    ("import", "cstp"): lambda folder: (_cstp(folder),),
    ("import", "runs"): lambda folder: tuple(written(folder, report(folder.name, "m"))),
    ("import", "results"): lambda folder: (_log(folder),),
    ("adopt", "all"): lambda folder: (_repository(folder), "--sessions", _session(folder), "--record"),
    ("adopt", "git"): lambda folder: (_repository(folder), "--record"),
    ("adopt", "pulls"): lambda folder: (_pulls(folder), "--repository", _repository(folder), "--record"),
    ("adopt", "sessions"): lambda folder: (_session(folder), "--record"),
    ("run", "save"): lambda folder: ("--report-file", *written(folder, report(f"{folder.name}-saved", "m"))),
    ("evidence", "put"): lambda folder: ("-",),
    ("evidence", "erase"): lambda folder: (DIGEST, "--reason", "it names a person", "--yes"),
    ("guardrail", "set"): lambda folder: (_rules(folder),),
    ("guardrail", "check"): lambda folder: (folder.name,),
    ("guardrail", "retire"): lambda folder: (folder.name,),
    ("eval", "capture"): lambda folder: (
        "--output", folder / "suite" / folder.name, *NAMED, "--investigation", _investigation(folder),
    ),
    ("eval", "run"): lambda folder: (
        scenario(folder, "one", captured={"rca": {"root_cause": "the cause of one"}}), "--no-baselines",
    ),
    ("eval", "label"): lambda folder: ("eval-0", "scenario-0", "--pass", "--note", folder.name),
    ("eval", "import"): lambda folder: ("opsbench", _labels(folder), "--output", folder / "suite"),
    ("discover",): lambda folder: ("--router", _agent_answers(folder.name), "--max-iterations", 1),
    ("model", "register"): lambda folder: (f"m-{folder.name}",),
    ("model", "alias"): lambda folder: ("example-large", f"a-{folder.name}"),
    ("model", "wrapper", "add"): lambda folder: (f"h-{folder.name}",),
    ("model", "wrapper", "remove"): lambda folder: (HOSTS[folder.name.rpartition("-")[2]],),
    ("probe", "rescore"): lambda folder: ("--scorer", "debugging@1"),
    ("breakers", "set"): lambda folder: (_breakers(folder),),
    ("mcp",): lambda folder: (),
}  # fmt: skip
"""Verbs that write, with arguments that add something when they are used for the first time in a folder."""

ELSEWHERE: tuple[Words, ...] = (
    ("judge", "run"),
    ("judge", "compare"),
    ("observe", "http"),
    ("observe", "alertmanager"),
)
"""Verbs that write, whose tests through a server need more: test_judge_run.py a run, test_observers.py an address,
test_real_alertmanager.py an Alertmanager."""

KNOWN = {("evidence", "erase"), ("probe", "rescore"), ("mcp",), ("resolve",)}
"""Verbs that add something once, whatever the folder, or only as a client asks: the others add something each time."""


def test_every_verb_has_a_case() -> None:
    """Each new verb must be in one of these tables."""
    tables = (READS, WRITES, ELSEWHERE, FILE, NOTHING)
    assert sorted(EVERY) == sorted(verb for table in tables for verb in table)


def test_the_manual_says_what_each_verb_does_with_a_server() -> None:
    manual = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    _, section = manual.split("## Which ledger a verb uses")
    rows = [line.split("|")[1] for line in section.partition("\n## ")[0].splitlines() if line.startswith("|`")]
    named = [sorted(row.strip("`").split("`, `")) for row in rows]
    assert named == [sorted(map(" ".join, table)) for table in ((*WRITES, *ELSEWHERE), READS, FILE, NOTHING)]


def head(url: str) -> int:
    position: int = httpx.get(f"{url}/readyz").json()["head"]
    return position


@pytest.mark.slow
@pytest.mark.trial("A2")
@pytest.mark.trial("A3")
@pytest.mark.parametrize(
    ("verb", "way"),
    [*((verb, "typed") for verb in WRITES), (("record",), "named"), (("record",), "found")],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_a_verb_that_writes_writes_through_the_server(scene: Scene, tmp_path: Path, verb: Words, way: str) -> None:
    other = scene.other.read_bytes()
    folder = tmp_path / f"{'-'.join(verb)}-{way}"
    folder.mkdir()
    words = (*verb, *WRITES[verb](folder))
    given = decided(folder.name) if verb == ("append",) else b"" if verb == ("mcp",) else folder.name.encode()
    ways: dict[str, tuple[tuple[Value, ...], dict[str, str]]] = {
        "typed": (("--url", scene.url), {"TALLYSTICK_LEDGER": str(scene.other)}),
        "named": ((), {"TALLYSTICK_URL": scene.url, "TALLYSTICK_LEDGER": str(scene.other)}),
        "found": (("--ledger", scene.served), {}),
    }
    if verb == ("evidence", "erase"):
        httpx.put(f"{scene.url}/evidence", content=b"evidence of this test")
    if verb == ("guardrail", "retire"):
        httpx.post(f"{scene.url}/guardrails", json={"yaml": rule_file(folder)}).raise_for_status()
    before = head(scene.url)
    ended = run(*words, *ways[way][0], given=given, **ways[way][1])
    assert ended.code == 0, ended.err
    note = f"using the server at {scene.url} that holds {scene.served}\n"
    assert ended.err.count(note) == (way == "found")
    if verb not in KNOWN:
        assert head(scene.url) > before
    assert scene.other.read_bytes() == other
