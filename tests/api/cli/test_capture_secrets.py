"""eval capture: no URL in a scenario keeps credentials, and its target names the alert's cluster."""

import json
from pathlib import Path

import pytest

from tests.api.cli.alerting import Json, alertmanager, firing, installed, labelled, misbehaving, reported
from tests.api.cli.capturing import INVESTIGATION, NAMED, answering, edit, events, program
from tests.api.cli.command import Value, done

pytestmark = pytest.mark.slow

SECRET = "s3cret-word"
HIDDEN = "[redacted]"

LEAKING: Json = {
    "generatorURL": f"http://ada:{SECRET}@prometheus.example/graph?g0.expr=up&token={SECRET}",
    "labels": {"instance": f"https://probe:{SECRET}@shop.example/health", "k8s_cluster": "eu-1"},
    "annotations": {
        "summary": "Shop is down",
        "runbook_url": f"https://wiki.example/shop?page=3&api_key={SECRET}",
        "silence_url": f"http://ada:{SECRET}@alerts.example/#/silences/new?filter=shop",
        "description": f"See https://ada:{SECRET}@wiki.example, and postgres://shop:{SECRET}@db/shop.",
    },
}
"""An alert with credentials in every place where rules put URLs."""

REDACTED: Json = {
    "generator_url": f"http://prometheus.example/graph?g0.expr=up&token={HIDDEN}",
    "labels": {"instance": f"https://{HIDDEN}@shop.example/health", "k8s_cluster": "eu-1"},
    "annotations": {
        "summary": "Shop is down",
        "runbook_url": f"https://wiki.example/shop?page=3&api_key={HIDDEN}",
        "silence_url": f"http://{HIDDEN}@alerts.example/#/silences/new?filter=shop",
        "description": f"See https://{HIDDEN}@wiki.example, and postgres://{HIDDEN}@db/shop.",
    },
}


def written(folder: Path) -> Json:
    """The investigation of a captured scenario; none of its files has the secret."""
    for file in folder.iterdir():
        assert SECRET not in file.read_text(), file
    investigation: Json = json.loads((folder / "investigation.json").read_bytes())
    return investigation


def leaking(name: str) -> Json:
    """An alert to post, with credentials in its URLs."""
    alert = labelled(name)
    return alert | LEAKING | {"labels": alert["labels"] | LEAKING["labels"]}


@installed
def test_an_alert_of_a_real_alertmanager_is_captured_without_credentials(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "am").mkdir()
    folder = tmp_path / "fixtures" / "a"
    with alertmanager(tmp_path / "am") as running:
        assert SECRET in json.dumps(running.post(leaking("ShopDown")))
        listed = done(ledger, "eval", "capture", "--list", "--json", "--alertmanager", running.url)
        done(ledger, "eval", "capture", "--alertmanager", running.url, "--alert-index", 0, "--output", folder, *NAMED)
    investigation = written(folder)
    labels = labelled("ShopDown")["labels"] | REDACTED["labels"]
    assert {key: investigation["alert"][key] for key in REDACTED} == REDACTED | {"labels": labels}
    target = investigation["target"]
    assert (target["cluster"], target["instance"]) == ("eu-1", REDACTED["labels"]["instance"])
    assert SECRET not in listed.text
    assert SECRET not in json.dumps(events(ledger))


def answer(**labels: str) -> Json:
    """An alert as the API states it."""
    (alert,) = firing(["ShopDown"], ["c0ffee0000000001"])
    return alert | LEAKING | {"labels": alert["labels"] | LEAKING["labels"] | labels}


def capture(ledger: Path, alert: Json, *more: Value) -> Json:
    """Capture an alert from a server that answers with it; the investigation."""
    folder = ledger.parent / "fixtures" / "a"
    with misbehaving(reported(alert)) as server:
        url = f"http://{server.address}"
        done(ledger, "eval", "capture", "--alertmanager", url, "--alert-index", 0, "--output", folder, *NAMED, *more)
    return written(folder)


def test_a_recorded_answer_is_captured_without_credentials(ledger: Path) -> None:
    alert = capture(ledger, answer())["alert"]
    assert {key: alert[key] for key in ("generator_url", "annotations")} == {
        key: REDACTED[key] for key in ("generator_url", "annotations")
    }
    assert alert["labels"].items() >= REDACTED["labels"].items()
    assert alert["fingerprint"] == "c0ffee0000000001"
    assert SECRET not in json.dumps(events(ledger))


def test_what_an_investigator_answers_is_captured_without_credentials(ledger: Path) -> None:
    said = {"env": [f"DATABASE_URL=mysql://root:{SECRET}@db:3306/shop"], f"http://u:{SECRET}@a": 7}
    investigation = capture(ledger, answer(), "--investigate", answering(evidence=said))
    assert investigation["evidence"] == {
        "env": [f"DATABASE_URL=mysql://{HIDDEN}@db:3306/shop"],
        f"http://{HIDDEN}@a": 7,
    }


def test_a_finished_investigation_is_captured_without_credentials(ledger: Path) -> None:
    given = INVESTIGATION | {"evidence": {"link": f"https://ada:{SECRET}@grafana.example/d/1?auth_token={SECRET}"}}
    folder = ledger.parent / "fixtures" / "a"
    words = ("eval", "capture", "--investigation", "-", "--output", folder, *NAMED)
    done(ledger, *words, given=json.dumps(given).encode())
    link = f"https://{HIDDEN}@grafana.example/d/1?auth_token={HIDDEN}"
    assert written(folder) == INVESTIGATION | {"evidence": {"link": link}}
    assert SECRET not in json.dumps(events(ledger))


@pytest.mark.parametrize(
    ("labels", "cluster"),
    [
        ({"k8s_cluster": "eu-1"}, "eu-1"),
        ({"cluster": "main", "k8s_cluster": "eu-1"}, "main"),
        ({"k8s_cluster": "", "cluster_name": "gke-2"}, "gke-2"),
        ({"k8s_cluster": "", "kubernetes_cluster": "k-3"}, "k-3"),
        ({"k8s_cluster": "", "kube_cluster_name": "k-4"}, "k-4"),
        ({"k8s_cluster": "", "k8s_cluster_name": "k-5"}, "k-5"),
        ({"k8s_cluster": ""}, None),
    ],
)
def test_the_target_names_the_cluster_of_the_alert(ledger: Path, labels: dict[str, str], cluster: str | None) -> None:
    assert capture(ledger, answer(**labels))["target"].get("cluster") == cluster
    folder = ledger.parent / "fixtures" / "a"
    assert (f"|Cluster|{cluster}|" in (folder / "README.md").read_text()) == (cluster is not None)
    assert (f"cluster: {cluster}\n" in (folder / "scenario.yaml").read_text()) == (cluster is not None)
    assert edit(folder).investigation["target"].get("cluster") == cluster


@pytest.mark.parametrize(
    ("target", "captured"),
    [
        (None, {"target_type": "unknown", "cluster": "eu-1"}),
        ({"pod": "web-1"}, {"pod": "web-1", "cluster": "eu-1"}),
        ({"pod": "web-1", "cluster": None}, {"pod": "web-1", "cluster": "eu-1"}),
        ({"cluster": "its own"}, {"cluster": "its own"}),
        ("web-1", "web-1"),
    ],
)
def test_an_investigator_names_the_target_and_capture_what_it_left_out(
    ledger: Path, target: object, captured: object
) -> None:
    code = f"target = json.loads({json.dumps(json.dumps(target))})\n"
    code += "print(json.dumps({'evidence': {}} | ({} if target is None else {'target': target})))"
    investigation = capture(ledger, answer(), "--investigate", program(code))
    expected = captured
    if target is None:
        assert isinstance(captured, dict)
        expected = captured | {"instance": REDACTED["labels"]["instance"]}
    assert investigation["target"] == expected


@pytest.mark.parametrize(
    ("target", "captured"), [({}, {"cluster": "main"}), ({"cluster": "own"}, {"cluster": "own"}), (None, None)]
)
def test_a_finished_investigation_gets_the_cluster_of_its_alert(ledger: Path, target: object, captured: object) -> None:
    given = INVESTIGATION | {"target": target, "alert": {"labels": {"alertname": "A", "cluster": "main"}}}
    folder = ledger.parent / "fixtures" / "a"
    words = ("eval", "capture", "--investigation", "-", "--output", folder, *NAMED)
    done(ledger, *words, given=json.dumps(given).encode())
    assert written(folder)["target"] == captured
