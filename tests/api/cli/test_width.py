"""Every verb on a terminal of 80 columns: no verdict, number or id is cut. A new verb needs a case here."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from api.cli.commands import VERBS
from events.envelope import encode_draft
from events.evaluation import EvalStarted
from tests.api.cli.alerting import Reply, labelled, misbehaving
from tests.api.cli.command import command, done
from tests.api.cli.evaluating import agent, evaluate, suite
from tests.api.cli.terminal import on_a_terminal
from tests.api.cli.wide_ledger import (
    ADDRESS,
    AGENTS,
    CATEGORY,
    DECISIONS,
    EVALUATION,
    MODEL,
    PROVIDER,
    RULE,
    RUN,
    SCENARIOS,
    SCOPE,
    TEXT,
    long_name,
    wide_ledger,
)
from tests.instruments.routers.simulated import completed, in_turn, said, simulated
from tests.projections.drafts import post
from tests.projections.judged_evaluations import facts, judged, label
from tests.support.inspect_logs import as_json, capitals
from tests.support.paths import ROOT
from tests.support.run_reports import report, written

COLUMNS = 80
WRAPPED_MIN = 16
"""The narrowest that a column becomes before another one is left out."""

NO_TABLE = (
    "record", "review", "append", "import decisions", "import cstp", "import ledger", "evidence put", "evidence get",
    "evidence erase", "advice", "eval gate", "eval import", "model register", "model alias", "probe prompt",
    "model wrapper add", "model wrapper remove",
    "probe analyze", "checkpoint", "receipt", "witness", "export", "key show", "key make", "serve", "token add",
    "token revoke", "backup", "restore", "schema", "retract", "doctor", "link", "mcp", "breakers set", "guardrail set",
    "guardrail retire", "webhook add", "webhook show", "webhook remove", "webhook test",
    "ledger create", "ledger check", "ledger list", "eval label", "eval labels", "eval suite save", "eval suite diff",
    "eval export", "adopt all", "adopt git", "adopt pulls", "adopt sessions", "sessions", "changes",
)  # fmt: skip
"""The verbs that print no table: lines, which a terminal wraps, or JSON. Those of `ledger` need PostgreSQL, and have a
test of their own."""


class Case(NamedTuple):
    """A command; what it must show on one line; and the names that it must show, if need be on several lines."""

    words: Sequence[str]
    whole: Sequence[str]
    names: Sequence[str] = ()


CASES = {
    "status": Case((), ("12", "6"), AGENTS),
    "calibration": Case(
        ("--group-by", "agent", "--detail", "curves", "--include", "trend,drift,comparison"),
        ("overconfident", "-0.483", "0.9-1.0"), AGENTS,
    ),
    "decisions": Case((), (*DECISIONS, "abandoned", "success")),
    "decision": Case((DECISIONS[0],), ("decision.reviewed.v1", "0.900", "success"), (AGENTS[0], CATEGORY)),
    "log": Case(("--limit", "4"), ("1", "4"), (f"decision/{DECISIONS[0]}",)),
    "graph": Case((DECISIONS[0],), ("supersedes", "superseded by"), DECISIONS[:2]),
    "breakers list": Case((), ("closed", "0 of 5"), (SCOPE,)),
    "guardrail list": Case((), ("warn", "in force"), (RULE,)),
    "guardrail show": Case((RULE,), ("warn", RULE, "stakes == high")),
    "guardrail check": Case(("Drop the table", "--stakes", "high"), ("ALLOWED", RULE)),
    "webhook list": Case((), ("drift, guardrail",), (ADDRESS,)),
    "eval show": Case((EVALUATION,), (*SCENARIOS, "stable", "failing"), (AGENTS[0],)),
    "eval list": Case((), (EVALUATION,)),
    "eval compare": Case((EVALUATION, EVALUATION), (), (EVALUATION,)),
    "scoreboard": Case((), ("50.0",), (AGENTS[0], long_name("version"))),
    "run show": Case((RUN, "--attempts"), ("accepted", "unparsable", "0.123", "123,456,789 ms"), (MODEL,)),
    "run list": Case((), (RUN, "max_iterations")),
    "inventory": Case((), ("yes", "1"), (MODEL,)),
    "model list": Case((), (long_name("key"), "never")),
    "model profile": Case((), ("overall", "not enough models"), (MODEL,)),
    "model wrapper list": Case((), ("By default",)),
    "probe scores": Case((), ("0.123",), (MODEL,)),
    "probe list": Case((), ("refactor-go",)),
    "probe rescore": Case(("--scorer", "refactor-go@1"), ("refactor-go@1", "all")),
    "verify": Case((), ("right", "Nothing is wrong")),
    "token list": Case((), ("read", "append"), (AGENTS[0],)),
    "projections": Case((), ("decisions", "calibration"), ()),
}  # fmt: skip


OTHERS = (
    "related",
    "eval run",
    "eval capture",
    "discover",
    "run save",
    "import runs",
    "import results",
    "evidence list",
    "replay",
    "eval suite list",
    "eval suite show",
    "judge report",
    "judge run",
    "judge compare",
    "tests",
    "resolve",
    "observe alertmanager",
    "observe command",
    "observe http",
    "observe junit",
)
"""The verbs that have a test of their own here."""


def paths() -> Iterator[str]:
    """The words of every verb."""
    for verb in VERBS:
        for inner in verb.verbs:
            yield from (f"{verb.name} {inner.name} {last.name}" for last in inner.verbs)
            if not inner.verbs:
                yield f"{verb.name} {inner.name}"
        if not verb.verbs:
            yield verb.name


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wide_ledger(tmp_path_factory.mktemp("wide"))


def shown(ledger: Path, *words: str) -> str:
    """What a verb prints on a terminal of 80 columns."""
    return on_a_terminal(*command(ledger, *words), columns=COLUMNS, TERM="xterm", NO_COLOR="1").replace("\r\n", "\n")


def test_every_verb_has_a_case() -> None:
    assert sorted((*CASES, *NO_TABLE, *OTHERS)) == sorted(paths())


@pytest.mark.slow
@pytest.mark.trial("A11")
@pytest.mark.parametrize("verb", CASES)
def test_a_narrow_terminal_cuts_no_verdict_number_or_id(ledger: Path, verb: str) -> None:
    case = CASES[verb]
    check(shown(ledger, *verb.split(), *case.words), case.whole, case.names)


@pytest.mark.slow
@pytest.mark.trial("A11")
def test_digests_are_whole(ledger: Path) -> None:
    listed = msgspec.json.decode(done(ledger, "evidence", "list", "--json").out)["evidence"]
    check(shown(ledger, "evidence", "list"), [*(piece["digest"] for piece in listed), "erased"])
    folded = msgspec.json.decode(done(ledger, "replay", "--json").out)["projections"]
    check(shown(ledger, "replay", "--check"), ["the same"], [projection["digest"] for projection in folded])


@pytest.mark.slow
def test_suite_versions(tmp_path: Path) -> None:
    name, run = long_name("case"), long_name("run")
    fixtures = suite(tmp_path / long_name("suite"), [name], description=long_name("text", 200))
    evaluate(tmp_path / "t.db", fixtures, "--run", run)
    listed = msgspec.json.decode(done(tmp_path / "t.db", "eval", "suite", "list", "--json").out)["versions"]
    digest = listed[0]["suite_digest"]
    check(shown(tmp_path / "t.db", "eval", "suite", "list"), [digest[:12], "all 2"])
    check(shown(tmp_path / "t.db", "eval", "suite", "show", run), [digest, name, "stored"], [run])


@pytest.mark.slow
@pytest.mark.trial("A11")
def test_related_events(tmp_path: Path) -> None:
    data = {"decision_id": DECISIONS[0], "decision": "one", "confidence": 0.9}
    event = {"type": "decision.recorded.v1", "source": f"/agents/{AGENTS[0]}", "correlationid": "trace-1", "data": data}
    done(tmp_path / "t.db", "append", given=msgspec.json.encode(event))
    check(shown(tmp_path / "t.db", "related", "trace-1"), ["0.900", "not reviewed"], [DECISIONS[0], AGENTS[0]])


@pytest.mark.slow
@pytest.mark.trial("A11")
@pytest.mark.parametrize("verb", [("import", "runs"), ("run", "save", "--report-file")], ids=" ".join)
def test_unsupported_scores(tmp_path: Path, verb: tuple[str, ...]) -> None:
    one = report(RUN, MODEL)
    one["results"][0]["probe"]["score"]["total_score"] = 0.123
    text = shown(tmp_path / "runs.db", *verb, str(written(tmp_path, one)[0]))
    check(text, ["0.123"], [RUN])
    assert "scored again" in text


@pytest.mark.slow
def test_imported_results(tmp_path: Path) -> None:
    log = capitals()
    log["eval"] |= {"task": long_name("task"), "model": long_name("model")}
    text = shown(tmp_path / "results.db", "import", "results", str(as_json(tmp_path, log)))
    run_ids = msgspec.json.decode(done(tmp_path / "results.db", "eval", "list", "--json").out)["evaluations"]
    check(text, [*(run["run_id"] for run in run_ids), "41.667", "50.000"])


@pytest.mark.slow
@pytest.mark.trial("A11")
def test_an_evaluation_under_way(tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "suite", SCENARIOS)
    command = agent(tmp_path / "agent", "answer(given['evidence']['log'] if case.startswith('0') else 'nothing')")
    words = ("eval", "run", str(fixtures), "--agent", command, "--agent-name", AGENTS[0], "--no-baselines")
    check(shown(tmp_path / "evals.db", *words), [*SCENARIOS, "passed", "failed"])


@pytest.mark.slow
@pytest.mark.trial("A11")
def test_answers_under_a_judge(tmp_path: Path) -> None:
    ledger, fixtures = tmp_path / "judged.db", suite(tmp_path / "suite", SCENARIOS)
    command = agent(tmp_path / "agent")
    done(ledger, "eval", "run", fixtures, "--agent", command, "--run", EVALUATION, "--no-baselines")
    judge = ("--judge", f"command:{sys.executable} {ROOT / 'examples' / 'judges' / 'word_judge.py'}")
    other = long_name("judged")
    check(shown(ledger, "judge", "run", EVALUATION, str(fixtures), *judge, "--run", other), SCENARIOS)
    compared = shown(ledger, "judge", "compare", EVALUATION, other, str(fixtures), *judge)  # this judge refuses pairs
    assert all(scenario in compared for scenario in SCENARIOS), compared


@pytest.mark.slow
@pytest.mark.trial("A11")
def test_models_that_a_router_uses(tmp_path: Path) -> None:
    with simulated(in_turn(completed(said(MODEL, provider=PROVIDER)))) as router:
        words = ("discover", "--router", f"openai:{router.url}", "--max-iterations", "1")
        check(shown(tmp_path / "models.db", *words), [], [MODEL, PROVIDER])


@pytest.mark.slow
@pytest.mark.trial("A11")
def test_firing_alerts(tmp_path: Path) -> None:
    alert = labelled(long_name("alert"), namespace=long_name("namespace"))
    alert |= {"fingerprint": "c04b4d550f89c90e", "status": {"state": "active"}}
    with misbehaving(Reply(msgspec.json.encode([alert]), headers={"content-type": "application/json"})) as running:
        words = ("eval", "capture", "--alertmanager", f"http://{running.address}", "--list")
        check(shown(tmp_path / "none.db", *words), ["critical", "c04b4d550f89c90e"], [long_name("alert")])


def check(text: str, whole: Sequence[str], names: Sequence[str] = ()) -> None:
    """Check that a screen shows some texts on one line, some names on several, and cuts only free text."""
    assert "Traceback" not in text
    assert "error:" not in text
    for word in whole:
        assert word in text, (word, text)
    for name in names:
        assert is_shown(name, text), (name, text)
    for cut in re.findall(r"(\S[^\n]*?)…", text):
        assert is_beginning_of_text(cut), (cut, text)


def is_shown(name: str, text: str) -> bool:
    """Whether a name is on one line, or continued below."""
    widths = range(WRAPPED_MIN, len(name) + 1)
    return any(all(name[at : at + width] in text for at in range(0, len(name), width)) for width in widths)


def is_beginning_of_text(line: str) -> bool:
    """Whether a line ends with words from the beginning of the free text."""
    return any(line.endswith(TEXT[:length]) for length in range(4, len(TEXT)))


@pytest.mark.slow
def test_judges(tmp_path: Path) -> None:
    name, version = long_name("criterion"), long_name("version")
    begun = EvalStarted(run_id=EVALUATION, suite="s", agent=AGENTS[0], agent_version=version)
    lines = [post(begun)]
    for number, scenario in enumerate((*SCENARIOS, long_name("third"))):
        score = judged(EVALUATION, scenario, f"answer {number}", {name: [number == 0]}, judge=facts(long_name("judge")))
        lines.append(post(score))
        if number < 2:
            lines.append(label(scenario, f"answer {number}", passed=number == 0, criterion=name, run=EVALUATION))
    done(tmp_path / "t.db", "append", given=b"\n".join(map(encode_draft, lines)))
    figures = ("kappa", "+1.00", "sensitivity", "corrected pass rate", "judge: pass", "0.00")
    check(shown(tmp_path / "t.db", "judge", "report"), figures, (AGENTS[0], version))


@pytest.mark.slow
def test_tests_of_decisions_fit_a_terminal(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    for name in ("first-one", "second-one"):
        tests = "git.kept:14d & forge.merged_and_kept:14d:kept_days=30;subject=pr:17"
        done(ledger, "record", "Cache", "--id", name, "--agent", long_name("agent"), "--test", tests)
    check(shown(ledger, "tests"), ["first-one", "second-one", "waiting"], [long_name("agent")])
    check(shown(ledger, "resolve"), ["waiting 2"])
