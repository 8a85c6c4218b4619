"""eval capture from a finished investigation: the files, what is recorded of them, and every mistake one can make."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from instruments.errors import BadFixtures
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import load
from tests.api.cli.capturing import (
    FILES,
    INVESTIGATION,
    NAMED,
    Json,
    edit,
    events,
    names,
    scenarios,
)
from tests.api.cli.command import Value, command, done, environment, refused, tally
from tests.api.service.ledgers import digest_of
from tests.support.held_lock import holding
from tests.support.paths import ROOT
from tests.support.server import serving


@pytest.fixture
def investigation(tmp_path: Path) -> Path:
    path = tmp_path / "investigation.json"
    path.write_text(json.dumps(INVESTIGATION))
    return path


def test_three_files_and_one_event(ledger: Path, tmp_path: Path, investigation: Path) -> None:
    folder = tmp_path / "fixtures" / "image-pull"
    reported = done(ledger, "eval", "capture", "--output", folder, *NAMED, "--investigation", investigation, USER="ada")
    assert names(folder) == FILES
    assert json.loads((folder / "investigation.json").read_bytes()) == INVESTIGATION
    assert reported.text.splitlines()[0] == "image-pull is captured, and recorded as a new scenario."
    assert reported.text.splitlines()[-1] == f"  3. tallystick eval run {folder.parent} -k image-pull"
    stored, captured = events(ledger)
    body = (folder / "investigation.json").read_bytes()
    assert (stored["subject"], captured["subject"]) == (f"evidence/{digest_of(body)}", "scenario/image-pull")
    assert captured["data"] == {
        "scenario_id": "image-pull",
        "name": "Image pull",
        "failure_type": "ImagePullBackOff",
        "description": "The pod waits for its image",
        "fixture_digest": captured["data"]["fixture_digest"],
        "investigation_digest": digest_of(body),
        "source": "investigation",
        "fingerprint": "c04b4d550f89c90e",
        "captured_at": captured["data"]["captured_at"],
        "captured_by": "ada",
    }
    assert done(ledger, "evidence", "get", digest_of(body)).out == body


def test_the_template_is_refused_until_it_is_edited_and_then_is_a_revision(
    ledger: Path, tmp_path: Path, investigation: Path
) -> None:
    folder = tmp_path / "image-pull"
    done(ledger, "eval", "capture", "--output", folder, *NAMED, "--investigation", investigation, "--family", "image")
    with pytest.raises(BadFixtures) as caught:
        load(folder)
    assert len(caught.value.faults) == 5
    assert {fault.advice for fault in caught.value.faults} == {"Edit it: write what is really expected."}
    scenario = edit(folder)
    assert (scenario.about.name, scenario.about.family, scenario.about.failure_type) == (
        *NAMED[1::2][:1],
        "image",
        NAMED[3],
    )
    assert scenario.captured == INVESTIGATION["analysis"]
    (before,) = [said for _, said in scenarios(ledger)]
    assert before["fixture_digest"] != scenario.fixture_digest
    assert "expectation_digest" not in before
    assert before["investigation_digest"] == scenario.investigation_digest


@pytest.mark.parametrize(
    ("more", "words", "labels"),
    [
        ({}, ("--cluster", "eu-1", "--family", "image"), ("eu-1", "image")),
        ({"target": {"cluster": "eu-2"}, "family": "f"}, (), ("eu-2", "f")),
        ({"target": {"cluster": "eu-2"}, "family": "f"}, ("--cluster", "eu-1", "--family", "g"), ("eu-1", "g")),
        ({"cluster": "eu-3"}, (), ("eu-3", None)),
        ({}, (), (None, None)),
    ],
)
def test_cluster_and_family_are_those_stated_or_observed(
    ledger: Path,
    tmp_path: Path,
    investigation: Path,
    more: dict[str, object],
    words: tuple[str, ...],
    labels: tuple[str | None, str | None],
) -> None:
    investigation.write_text(json.dumps(INVESTIGATION | more))
    folder = tmp_path / "a"
    done(ledger, "eval", "capture", "--output", folder, *NAMED, "--investigation", investigation, *words)
    scenario = edit(folder)
    assert (scenario.about.cluster, scenario.about.family) == labels
    assert select([scenario], labels[0] or "a") == (scenario,)


@pytest.mark.slow
def test_an_edited_one_is_scored_and_is_a_revision(ledger: Path, tmp_path: Path, investigation: Path) -> None:
    folder = tmp_path / "fixtures" / "a"
    done(ledger, "eval", "capture", "--output", folder, *NAMED, "--investigation", investigation)
    assert "scenario.yaml: expected_outcomes.root_cause" in refused(ledger, "eval", "run", folder.parent)
    scenario = edit(folder, "registry")
    ended = tally(ledger, "eval", "run", folder.parent, "--json")
    assert ended.code in {0, 1}, ended.err
    (before, _), (after, said) = scenarios(ledger)
    assert (before, after) == ("captured", "revised")
    assert said["fixture_digest"] == scenario.fixture_digest
    assert said["expectation_digest"] == scenario.expectation_digest
    assert said["source"] == "investigation"


def test_the_same_again_adds_nothing_and_another_is_a_revision(
    ledger: Path, tmp_path: Path, investigation: Path
) -> None:
    again = ("eval", "capture", "--output", tmp_path / "a", *NAMED, "--investigation", investigation, "--force")
    assert [json.loads(done(ledger, *again, "--json").out)["recorded"] for _ in range(2)] == ["captured", "unchanged"]
    investigation.write_text(json.dumps(INVESTIGATION | {"evidence": {"logs": ["new"]}}))
    assert "recorded as a revision" in done(ledger, *again).text
    assert [kind for kind, _ in scenarios(ledger)] == ["captured", "revised"]
    assert len({said["fixture_digest"] for _, said in scenarios(ledger)}) == 2


@pytest.mark.slow
def test_from_a_pipe_through_a_server(ledger: Path, tmp_path: Path) -> None:
    given = json.dumps(INVESTIGATION | {"family": "image_pull"}).encode()
    with serving(ledger) as url:
        words: tuple[Value, ...] = ("--investigation", "-", "--url", url, "--json")
        reported = json.loads(
            done(ledger, "eval", "capture", "--output", tmp_path / "a", *NAMED, *words, given=given).out
        )
    assert reported["files"] == FILES
    assert reported["folder"] == str(tmp_path / "a")
    ((kind, said),) = scenarios(ledger)
    assert (kind, said["scenario_id"], said["family"]) == ("captured", "a", "image_pull")
    assert said["fixture_digest"] == reported["fixture_digest"]


@pytest.mark.parametrize(
    ("output", "more", "title"),
    [
        ("job-image", (), "job-image"),
        ("fixtures/job-image/llm", (), "job-image.llm"),
        ("fixtures/job-image/gpt", ("--fixtures", "fixtures"), "job-image.gpt"),
        ("fixtures/a job", (), "a-job"),
    ],
)
def test_where_it_stands_is_what_it_is_called(
    ledger: Path, tmp_path: Path, investigation: Path, output: str, more: tuple[str, ...], title: str
) -> None:
    words = [tmp_path / word if word == "fixtures" else word for word in more]
    done(ledger, "eval", "capture", "--output", tmp_path / output, *words, *NAMED, "--investigation", investigation)
    ((_, said),) = scenarios(ledger)
    assert said["scenario_id"] == title
    assert said.get("mode") == title.partition(".")[2] if "." in title else "mode" not in said


def test_names_are_asked_for_with_defaults(ledger: Path, tmp_path: Path, investigation: Path) -> None:
    words: tuple[Value, ...] = (
        "eval",
        "capture",
        "--output",
        tmp_path / "a",
        "--interactive",
        "--investigation",
        investigation,
    )
    reported = done(ledger, *words, "--json", given=b"\nImagePullBackOff\n")
    assert "Scenario name [KubePodNotReady]" in reported.err
    assert json.loads(reported.out)["scenario_id"] == "a"
    ((_, said),) = scenarios(ledger)
    assert (said["name"], said["failure_type"]) == ("KubePodNotReady", "ImagePullBackOff")


@pytest.mark.slow
def test_who_gives_up_leaves_nothing_behind(ledger: Path, tmp_path: Path, investigation: Path) -> None:
    words: tuple[Value, ...] = (
        "eval",
        "capture",
        "--output",
        tmp_path / "a",
        "--interactive",
        "--investigation",
        investigation,
    )
    ended = tally(ledger, *words, given=b"A name\n")
    assert (ended.code, ended.out) == (1, b"")
    assert names(tmp_path) == ["investigation.json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command(ledger, *words), cwd=ROOT, env=environment(), stdin=pipe, stderr=pipe) as process:
        assert process.stderr is not None
        while b"name" not in process.stderr.read1():  # type: ignore[attr-defined]
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait() != 0
    assert names(tmp_path) == ["investigation.json"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"", "--investigation: standard input is empty."),
        (b"{", "--investigation: standard input is not JSON:"),
        (b"[]", "--investigation: standard input is not a JSON object."),
        (b'{"status": "success", "data": []}', "is not an investigation: it has none of alert, evidence, analysis."),
        (b'{"alert": {}, "alert": {}}', "standard input has the key 'alert' twice"),
        (b'{"alert": {}, "analysis": []}', "standard input: analysis is a list, but must be an object."),
        (b'{"analysis": {"rca": {"root_cause": 1}}}', "standard input: analysis.rca.root_cause has a wrong type"),
        (b'{"evidence": ' + b"[" * 300 + b"]" * 300 + b"}", "standard input nests more than 200 deep."),
        (b'{"evidence": {"note": "' + b"x" * (16 << 20) + b'"}}', "standard input is larger than 16,777,216 bytes."),
    ],
)
def test_what_is_no_investigation_is_refused(ledger: Path, tmp_path: Path, given: bytes, said: str) -> None:
    words: tuple[Value, ...] = ("eval", "capture", "--output", tmp_path / "a", *NAMED, "--investigation", "-")
    assert said in refused(ledger, *words, given=given)
    assert names(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "investigation: is missing, and so is --alertmanager."),
        (("--investigation", "none.json", *NAMED), "output: is missing."),
        (
            ("--output", "a", "--investigation", "none.json", *NAMED),
            "--investigation: none.json cannot be read: No such file",
        ),
        (("--output", "a", "--investigation", ".", *NAMED), "--investigation: . cannot be read: Is a directory."),
        (("--output", "a", "--investigation", "-", "--failure-type", "X"), "scenario_name: is missing."),
        (("--output", "a", "--investigation", "-", "--scenario-name", "X"), "failure_type: is missing."),
        (("--output", "a", "--investigation", "-", *NAMED, "--interactive"), "--interactive: needs standard input"),
        (("--output", "a", "--investigation", "-", *NAMED, "--fingerprint", "c0"), "--fingerprint: does not go with"),
        (("--output", "a", "--investigation", "-", *NAMED, "--investigate", "true"), "--investigate: does not go with"),
        (
            ("--output", "a", "--investigation", "-", *NAMED, "--alertmanager", "http://a"),
            "--alertmanager: does not go",
        ),
        (("--output", "a", "--investigation", "-", *NAMED, "--list"), "--list: does not go with --investigation."),
        (
            ("--output", "a", "--investigation", "-", *NAMED, "--time-window", "soon"),
            "--time-window: 'soon' is not a time span.",
        ),
        (
            ("--output", "a/b/c", "--fixtures", ".", "--investigation", "-", *NAMED),
            "--output: a/b/c is not a folder of a",
        ),
        (
            ("--output", ".", "--fixtures", ".", "--investigation", "-", *NAMED),
            "--output: . is not a folder of a scenario",
        ),
        (("--output", "a", "--investigation", "-", "--scenario-name", "X", "--failure-type", "..."), "holds no word"),
        (
            ("--output", "a", "--investigation", "-", "--scenario-name", "n" * 257, "--failure-type", "X"),
            "257 characters",
        ),
        (("--output", "a", "--investigation", "-", *NAMED, "--description", "d" * 10_001), "--description: has 10,001"),
        (("--output", "a", "--investigation", "-", *NAMED, "--family", "f" * 257), "--family: has 257 characters"),
    ],
)
def test_what_was_typed_wrong_is_named_and_nothing_is_written(
    ledger: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    placed = [
        tmp_path / word if after in {"--output", "--fixtures"} else word
        for after, word in zip(("", *words), words, strict=False)
    ]
    reported = refused(ledger, "eval", "capture", *placed, given=json.dumps(INVESTIGATION).encode())
    assert said in reported.replace(f"{tmp_path}/", "").replace(str(tmp_path), ".")
    assert names(tmp_path) == []


def test_a_fixture_that_is_there_is_not_overwritten(ledger: Path, tmp_path: Path, investigation: Path) -> None:
    words: tuple[Value, ...] = ("eval", "capture", "--output", tmp_path / "a", *NAMED, "--investigation", investigation)
    done(ledger, *words)
    (tmp_path / "a" / "README.md").write_text("mine")
    assert "already contains a fixture" in refused(ledger, *words)
    assert (tmp_path / "a" / "README.md").read_text() == "mine"
    assert len(scenarios(ledger)) == 1


def test_a_ledger_that_cannot_be_written_is_reported_and_the_files_stand(
    ledger: Path, tmp_path: Path, investigation: Path
) -> None:
    words: tuple[Value, ...] = ("eval", "capture", "--output", tmp_path / "a", *NAMED, "--investigation", investigation)
    with holding(ledger):
        reported = refused(ledger, *words)
    assert "is being written by process" in reported
    assert f"The files are in {tmp_path / 'a'}; `tallystick eval run` records them once they are edited." in reported
    assert names(tmp_path / "a") == FILES
    assert scenarios(ledger) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(ledger: Path, tmp_path: Path, investigation: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    words: tuple[Value, ...] = ("--output", tmp_path / "closed" / "a", *NAMED, "--investigation", investigation)
    assert "Permission denied" in refused(ledger, "eval", "capture", *words)
    assert events(ledger) == []


@pytest.mark.parametrize("output", ["file", "file/a", "file/a/llm"])
def test_a_file_where_a_folder_belongs(ledger: Path, tmp_path: Path, investigation: Path, output: str) -> None:
    (tmp_path / "file").write_text("mine")
    words: tuple[Value, ...] = ("--output", tmp_path / output, *NAMED, "--investigation", investigation)
    said = refused(ledger, "eval", "capture", *words)
    assert f"--output: {tmp_path / output} cannot be written: {tmp_path / 'file'}: Not a directory." in said
    assert (tmp_path / "file").read_text() == "mine"
    assert not ledger.exists()


def test_a_name_that_yaml_would_read_as_something_else(ledger: Path, tmp_path: Path, investigation: Path) -> None:
    oddities: Json = {
        "--scenario-name": "no: # 'x'",
        "--failure-type": "0x1F",
        "--family": "yes",
        "--description": "a\nb: c\n",
    }
    words = [word for pair in oddities.items() for word in pair]
    done(ledger, "eval", "capture", "--output", tmp_path / "a", *words, "--investigation", investigation)
    about = edit(tmp_path / "a").about
    assert [about.name, about.failure_type, about.family, about.description] == list(oddities.values())
