"""eval capture from an alert that is firing: against Debian's Alertmanager, and against servers that misbehave."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.cli.alerting import (
    Firing,
    Json,
    Reply,
    alertmanager,
    firing,
    installed,
    labelled,
    misbehaving,
    reported,
)
from tests.api.cli.capturing import (
    FILES,
    NAMED,
    answering,
    edit,
    events,
    names,
    program,
    scenarios,
)
from tests.api.cli.command import Value, command, done, environment, refused, tally
from tests.support.paths import ROOT
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

IMAGE = labelled("KubePodNotReady", "2026-11-20T09:00:00Z", pod="web-1", family="pod_not_healthy")
MEMORY = labelled("KubeOOMKilled", "2026-11-20T08:00:00Z", severity="warning")
LATEST = labelled("CPUThrottlingHigh", "2026-11-20T10:00:00Z")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firing]:
    """An Alertmanager with three alerts, and one that is silenced."""
    with alertmanager(tmp_path_factory.mktemp("alertmanager")) as running:
        running.post(LATEST, IMAGE, MEMORY, labelled("Watchdog"))
        running.silence("Watchdog")
        yield running


def capture(ledger: Path, url: str, *more: Value, **variables: str) -> tuple[Value, ...]:
    return ("eval", "capture", "--alertmanager", url, "--output", ledger.parent / "fixtures" / "a", *more)


@installed
def test_a_posted_alert_becomes_a_scenario(ledger: Path, real: Firing) -> None:
    evidence = {"k8s": {"pod_events": ["manifest for web:1.2 not found"]}}
    analysis = {"rca": {"root_cause": "web:1.2 is not in the registry"}}
    command = answering(evidence=evidence, analysis=analysis)
    words = capture(ledger, real.url, "--alert-index", 1, *NAMED, "--investigate", command)
    assert "a is captured, and recorded as a new scenario." in done(ledger, *words).text
    folder = ledger.parent / "fixtures" / "a"
    assert names(folder) == FILES
    investigation = json.loads((folder / "investigation.json").read_bytes())
    alert = investigation["alert"]
    assert alert["labels"] == IMAGE["labels"]
    assert alert["annotations"] == {"summary": "KubePodNotReady is firing"}
    assert (alert["starts_at"], alert["state"]) == ("2026-11-20T09:00:00.000Z", "active")
    assert alert["generator_url"] == IMAGE["generatorURL"]
    assert investigation["target"] == {"target_type": "pod", "namespace": "shop", "pod": "web-1"}
    assert investigation["time_window"]["window"] == "1h"
    assert (investigation["evidence"], investigation["analysis"]) == (evidence, analysis)
    ((kind, said),) = scenarios(ledger)
    assert (kind, said["source"], said["fingerprint"]) == ("captured", "alertmanager", alert["fingerprint"])
    assert (said["family"], said["description"]) == ("pod_not_healthy", "KubePodNotReady is firing")
    assert edit(folder).captured == analysis


@installed
def test_what_is_firing_is_listed_in_the_order_of_the_index(ledger: Path, real: Firing) -> None:
    reported = done(ledger, "eval", "capture", "--list", ALERTMANAGER_URL=real.url)
    rows = [line.split()[:4] for line in reported.text.splitlines()[1:]]
    assert rows == [
        ["0", "KubeOOMKilled", "shop", "warning"],
        ["1", "KubePodNotReady", "shop", "critical"],
        ["2", "CPUThrottlingHigh", "shop", "critical"],
    ]
    assert reported.err == f"3 alerts are firing at {real.url}; silenced and inhibited alerts are left out.\n"
    listed = json.loads(
        done(ledger, "eval", "capture", "--list", "--json", "--alertmanager", f"{real.url}/#/alerts").out
    )
    assert [(alert["index"], alert["labels"]["alertname"]) for alert in listed["alerts"]] == [
        (0, "KubeOOMKilled"),
        (1, "KubePodNotReady"),
        (2, "CPUThrottlingHigh"),
    ]
    assert not ledger.exists()


@installed
def test_an_alert_is_chosen_by_how_its_fingerprint_begins(ledger: Path, real: Firing) -> None:
    listed = json.loads(done(ledger, "eval", "capture", "--list", "--json", ALERTMANAGER_URL=real.url).out)["alerts"]
    wanted = listed[2]["fingerprint"]
    words = capture(ledger, real.url, "--fingerprint", wanted[:6].upper(), *NAMED)
    done(ledger, *words)
    ((_, said),) = scenarios(ledger)
    assert said["fingerprint"] == wanted
    readme = (ledger.parent / "fixtures" / "a" / "README.md").read_text()
    assert "`investigation.json` holds the alert and no evidence." in readme
    other = wanted[:-1] + ("0" if wanted[-1] != "0" else "1")
    assert f"Did you mean {wanted} (CPUThrottlingHigh)?" in refused(
        ledger, *capture(ledger, real.url, "--fingerprint", other, *NAMED, "--force")
    )
    last = refused(ledger, *capture(ledger, real.url, "--alert-index", 3, *NAMED, "--force"))
    assert "there is no alert 3: 3 alerts are firing, and the first is 0." in last


@installed
def test_an_alert_is_chosen_from_a_list(ledger: Path, real: Firing) -> None:
    words = capture(ledger, real.url, "--interactive", "--investigate", answering(evidence={}), "--json")
    ended = done(ledger, *words, given=b"7\none\n2\n\nThrottled\n")
    assert ended.err.count("Answer with a number from 0 to 2.") == 2
    assert "CPUThrottlingHigh" in ended.err
    assert json.loads(ended.out)["recorded"] == "captured"
    ((_, said),) = scenarios(ledger)
    assert (said["name"], said["failure_type"]) == ("CPUThrottlingHigh", "Throttled")


@installed
def test_who_ends_the_questions_leaves_nothing_behind(ledger: Path, real: Firing) -> None:
    ended = tally(ledger, *capture(ledger, real.url, "--interactive"), given=b"1\n")
    assert (ended.code, ended.out) == (1, b"")
    assert names(ledger.parent) == []


@installed
def test_it_may_be_served_below_a_path(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "am").mkdir()
    with alertmanager(tmp_path / "am", "--web.route-prefix=/tools/alerts", path="/tools/alerts") as running:
        assert "No alert is firing" in done(ledger, "eval", "capture", "--list", "--alertmanager", running.url).err
        none = refused(ledger, *capture(ledger, running.url, "--alert-index", 0, *NAMED), code=1)
        assert "No alert is firing at" in none
        running.post(MEMORY)
        done(ledger, *capture(ledger, f"{running.url}/", "--alert-index", 0, *NAMED))
        below = running.url.removesuffix("/tools/alerts")
        assert "answered 404" in refused(ledger, *capture(ledger, below, "--alert-index", 0, *NAMED, "--force"))


SECRET = "quite-secret-7"

TWINS: list[Json] = firing(["Alpha", "Beta"], ["c0ffee0000000001", "c0ffee0000000002"])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (reported(), "No alert is firing at http://ADDRESS."),
        (Reply(b"<html>Sign in</html>"), "answered with no JSON: <html>Sign in</html>"),
        (Reply(), "answered with no JSON, but with nothing"),
        (
            Reply(b'{"status":"success"}'),
            "answered with no list of alerts (the whole: expected `array`, got `object`).",
        ),
        (Reply(b'[{"labels":{}}]'), "no list of alerts ([0]: object missing required field `fingerprint`)."),
        (Reply(b'"no good"', 400), "answered 400: no good."),
        (Reply(b"denied to quite-secret-7", 401), "answered 401: denied to [redacted].\nPut user and password into"),
        (
            Reply(b"404 page not found", 404),
            "answered 404: 404 page not found.\nIs it an Alertmanager of 0.16 or newer?",
        ),
        (Reply(b"", 503), "answered 503.\nLook into its log."),
        (
            Reply(b"", 302, {"location": "https://sso.example/?p=quite-secret-7"}),
            "redirects (302) to https://sso.example/?p=[redacted]",
        ),
        (Reply(b"[", how="cut"), "gave no answer: peer closed connection"),
        (Reply(how="stall"), "gave no whole answer within 5 s."),
        (Reply(b" " * (16 << 20) + b"[]"), "answered with more than 16,777,216 bytes."),
    ],
)
def test_a_server_that_misbehaves_is_reported(ledger: Path, reply: Reply, said: str) -> None:
    with misbehaving(reply) as server:
        address = f"http://ada:{SECRET}@{server.address}/am?key={SECRET}"
        words = capture(ledger, address, "--alert-index", 0, *NAMED, "--timeout", 5 if reply.how == "stall" else 60)
        ended = refused(ledger, *words, code=1 if said.startswith("No alert") else 2)
        path, headers = server.asked[0]
    assert said in ended.replace(f"{server.address}/am", "ADDRESS")
    assert SECRET not in ended
    assert path == f"/am/api/v2/alerts?key={SECRET}&active=true&silenced=false&inhibited=false&unprocessed=true"
    assert headers["authorization"] == "Basic YWRhOnF1aXRlLXNlY3JldC03"
    assert names(ledger.parent) == []


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:9093", "alertmanager: is not the address of a server."),
        ("ftp://127.0.0.1/quite-secret-7", "alertmanager: is not the address of a server."),
        ("http://ada:quite-secret-7@", "alertmanager: is not the address of a server."),
        ("http://ada:quite-secret-7@127.0.0.1:99999/", "alertmanager: is not the address of a server."),
        ("http://ada:quite-secret-7@127.0.0.1:1/", "alertmanager: http://127.0.0.1:1 gave no answer:"),
    ],
)
def test_an_address_that_is_none_is_not_repeated(ledger: Path, address: str, said: str) -> None:
    for words in (("--alertmanager", address), ()):
        ended = refused(
            ledger,
            "eval",
            "capture",
            "--output",
            ledger.parent / "a",
            "--alert-index",
            0,
            *NAMED,
            *words,
            ALERTMANAGER_URL=address,
        )
        assert said in ended
        assert SECRET not in ended
    assert names(ledger.parent) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--fingerprint", "c0ffee"),
            "2 alerts begin with 'c0ffee': c0ffee0000000001 (Alpha), c0ffee0000000002 (Beta).",
        ),
        (("--fingerprint", ""), "no alert that is firing has ''"),
        (("--fingerprint", "zz"), "Firing: c0ffee0000000001 (Alpha), c0ffee0000000002 (Beta). --list shows them all."),
        (("--alert-index", -1), "there is no alert -1: 2 alerts are firing"),
        (("--alert-index", 0, "--fingerprint", "c0"), "--alert-index: does not go with --fingerprint."),
        ((), "--alertmanager: the alert to capture is missing."),
    ],
)
def test_which_alert_has_to_be_clear(ledger: Path, words: tuple[Value, ...], said: str) -> None:
    with misbehaving(reported(*TWINS)) as server:
        assert said in refused(ledger, *capture(ledger, f"http://{server.address}", *words, *NAMED))
    assert names(ledger.parent) == []


def test_of_those_that_began_at_once_the_fingerprint_says_which_is_first(ledger: Path) -> None:
    with misbehaving(reported(*reversed(TWINS))) as server:
        listed = done(ledger, "eval", "capture", "--list", "--json", "--alertmanager", f"http://{server.address}").out
    assert [alert["fingerprint"] for alert in json.loads(listed)["alerts"]] == ["c0ffee0000000001", "c0ffee0000000002"]


@pytest.mark.parametrize(
    ("investigator", "said"),
    [
        ("no-such-program --x", "--investigate: 'no-such-program' cannot be found or run here."),
        ("'", "--investigate: cannot be split into words: no closing quotation."),
        (program("sys.exit('the cluster is away')"), "ended with exit code 1.\nIts last lines:\nthe cluster is away\n"),
        (program("os.kill(os.getpid(), 9)"), "was ended by SIGKILL."),
        (
            program("print('half', flush=True); time.sleep(99)"),
            "gave no whole answer within 5 s.\nIts last lines:\nhalf\n",
        ),
        (program("print('x' * (5 << 20))"), "wrote more than 4,194,304 bytes and was ended."),
        (program("print('I looked into it.')"), "wrote no investigation: it is not JSON: line 1: "),
        (program("pass"), "wrote no investigation: it is empty."),
        (program("print('[]')"), "wrote no investigation: its output is JSON, but not an object."),
        (program("print('{} {}')"), "wrote no investigation: it is not JSON: line 1: trailing characters"),
        (program("print('{}')"), "its answer is not an investigation: it has none of alert, evidence, analysis."),
        (program("print('{\"analysis\": []}')"), "its answer: analysis is a list, but must be an object."),
        (program("sys.exit('token ' + os.environ['SHOP_TOKEN'])"), "Its last lines:\ntoken [redacted]\n"),
    ],
)
def test_who_does_not_investigate_is_reported_with_its_last_lines(ledger: Path, investigator: str, said: str) -> None:
    with misbehaving(reported(*TWINS)) as server:
        words = capture(ledger, f"http://{server.address}", "--alert-index", 0, *NAMED, "--investigate", investigator)
        ended = refused(ledger, *words, "--timeout", 5 if "no whole answer" in said else 60, SHOP_TOKEN=SECRET)
    assert said in ended
    assert SECRET not in ended
    assert names(ledger.parent) == []


def test_what_is_secret_is_not_captured(ledger: Path) -> None:
    leaking = program(
        "token, pin = os.environ['SHOP_TOKEN'], os.environ['SHOP_PASSWORD']\n"
        "print(json.dumps({'evidence': {'env': [token], token: int(pin), 'count': 7}}))"
    )
    with misbehaving(reported(*TWINS)) as server:
        words = capture(ledger, f"http://{server.address}", "--alert-index", 0, *NAMED, "--investigate", leaking)
        done(ledger, *words, SHOP_TOKEN=SECRET, SHOP_PASSWORD="40917733")
    investigation = json.loads((ledger.parent / "fixtures" / "a" / "investigation.json").read_bytes())
    assert investigation["evidence"] == {"env": ["[redacted]"], "[redacted]": "[redacted]", "count": 7}
    assert investigation["alert"]["fingerprint"] == "c0ffee0000000001"
    assert SECRET not in json.dumps(events(ledger))


def test_whoever_investigates_may_write_in_the_ledger(ledger: Path) -> None:
    deciding = program(
        "import subprocess\n"
        f"words = {command(ledger, 'append')!r}\n"
        "event = {'type': 'decision.recorded.v1', 'data': {'decision': 'look', 'confidence': 0.5, 'category': 'rca',"
        " 'stakes': 'low'}}\n"
        "subprocess.run(words, input=json.dumps(event).encode(), check=True, stdout=sys.stderr)\n"
        "print(json.dumps(given))"
    )
    with misbehaving(reported(*TWINS)) as server:
        done(
            ledger, *capture(ledger, f"http://{server.address}", "--alert-index", 0, *NAMED, "--investigate", deciding)
        )
    assert [event["type"].partition(".")[0] for event in events(ledger)] == ["decision", "evidence", "eval"]


def test_ctrl_c_ends_the_investigation_and_leaves_nothing_behind(ledger: Path, tmp_path: Path) -> None:
    waiting = program(f"open({str(tmp_path / 'begun')!r}, 'w').close(); time.sleep(99)")
    with misbehaving(reported(*TWINS)) as server:
        words = capture(ledger, f"http://{server.address}", "--alert-index", 0, *NAMED, "--investigate", waiting)
        with subprocess.Popen(command(ledger, *words), cwd=ROOT, env=environment(), stderr=subprocess.PIPE) as process:
            wait_until((tmp_path / "begun").exists, process)
            process.send_signal(2)
            assert process.wait() != 0
    assert names(tmp_path) == ["begun"]
