"""Old suite versions: kept by each run; shown, saved, compared and run again after their folder is gone."""

import json
import shutil
import threading
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from events.limits import EVIDENCE_BYTES_MAX
from tests.api.cli.command import Ended, done, refused, tally
from tests.api.cli.evaluating import NAMES, Json, agent, asked, evaluate, events, of_type, scenario, scores, suite
from tests.support.server import served

EXPECTED = {f"{name}/{file}" for name in NAMES for file in ("scenario.json", "investigation.json")}


def started(ledger: Path, run: str) -> Json:
    (found,) = of_type(events(ledger, run), "started")
    return found


def answered(ledger: Path, *words: str) -> Json:
    """What a verb answers as JSON."""
    found: Json = msgspec.json.decode(done(ledger, *words, "--json").out)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def evidence_events(ledger: Path) -> list[str]:
    lines = done(ledger, "log", "--json").out.splitlines()
    return [
        event["data"]["digest"] for event in map(msgspec.json.decode, lines) if event["type"] == "evidence.stored.v1"
    ]


def test_the_manifest_lists_every_file_and_each_is_stored_once(ledger: Path, fixtures: Path) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    digest = started(ledger, "one")["suite_files_digest"]
    manifest = done(ledger, "evidence", "get", str(digest)).out
    files = json.loads(manifest)
    assert set(files) == EXPECTED
    assert manifest == json.dumps(files, sort_keys=True, separators=(",", ":")).encode()
    for path, each in files.items():
        assert sha256((fixtures / path).read_bytes()).hexdigest() == each
    assert sorted(evidence_events(ledger)) == sorted({*files.values(), digest})
    evaluate(ledger, fixtures, "--run", "two")
    assert started(ledger, "two")["suite_files_digest"] == digest
    assert len(evidence_events(ledger)) == len(files) + 1, "nothing is stored twice"


@pytest.mark.slow
def test_after_its_folder_is_gone_a_suite_is_shown_saved_and_run_again(
    ledger: Path, fixtures: Path, tmp_path: Path
) -> None:
    line = agent(tmp_path / "notes", "answer('nothing' if case == 'image-pull' else given['evidence']['log'])")
    evaluate(ledger, fixtures, "--agent", line, "--run", "one")
    before = contents(fixtures)
    shutil.rmtree(fixtures)
    shown = done(ledger, "eval", "show", "one", "--fixture", "image-pull").text
    assert "hush-image-pull" in shown
    assert "cause of image-pull" in shown
    assert (
        done(ledger, "eval", "suite", "show", "one", "--file", "image-pull/scenario.json").out
        == (before["image-pull/scenario.json"])
    )
    done(ledger, "eval", "suite", "save", "one", "--to", str(tmp_path / "deep" / "saved"))
    assert contents(tmp_path / "deep" / "saved") == before
    ended = tally(ledger, "eval", "run", "--no-baselines", "--suite-of", "one", "--agent", line, "--run", "two")
    assert ended.code == 1, ended.err
    first, second = started(ledger, "one"), started(ledger, "two")
    for name in ("suite", "suite_digest", "suite_files_digest", "scenarios", "scorer_version"):
        assert first[name] == second[name], name
    assert asked(tmp_path / "notes") == [*NAMES, *NAMES]
    pairs = list(zip(scores(ledger, "one"), scores(ledger, "two"), strict=True))
    assert [(one["total_score"], one["fixture_digest"]) for one, _ in pairs] == [
        (two["total_score"], two["fixture_digest"]) for _, two in pairs
    ]
    compared = answered(ledger, "eval", "compare", "one", "two")
    assert compared["not_comparable"] == []
    assert compared["pairs"] == len(NAMES)
    assert done(ledger, "eval", "gate", "--baseline", "one", "--run", "two").code == 0


def test_one_scenario_as_the_suite_keeps_its_name(ledger: Path, tmp_path: Path) -> None:
    folder = scenario(tmp_path, ".hidden", captured={"rca": {"root_cause": "the cause of .hidden"}})
    evaluate(ledger, folder, "--run", "one")
    shutil.rmtree(folder)
    ended = tally(ledger, "eval", "run", "--no-baselines", "--suite-of", "one", "--run", "two")
    assert ended.code == 0, ended.err
    assert started(ledger, "one")["suite_digest"] == started(ledger, "two")["suite_digest"]
    assert [score["scenario_id"] for score in scores(ledger, "two")] == [".hidden"]


def test_two_versions_are_listed_and_compared(ledger: Path, fixtures: Path) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    scenario(fixtures, "node-full")
    shutil.rmtree(fixtures / "crash-loop")
    (fixtures / "image-pull" / "scenario.json").write_text(
        (fixtures / "image-pull" / "scenario.json").read_text().replace("cause of image-pull", "the missing tag")
    )
    described = fixtures / "out-of-memory" / "scenario.json"
    described.write_text(json.dumps({**json.loads(described.read_text()), "description": "other"}, indent=3))
    evaluate(ledger, fixtures, "--run", "two")
    listed = answered(ledger, "eval", "suite", "list", "--suite", "kube")
    assert [(each["last_run"], each["runs"], each["scenarios"], each["state"]) for each in listed["versions"]] == [
        ("two", 1, 3, "stored"),
        ("one", 1, 3, "stored"),
    ]
    found = answered(ledger, "eval", "suite", "diff", "one", "two")
    assert (found["added"], found["removed"], found["unchanged"]) == (["node-full"], ["crash-loop"], 0)
    assert [(each["title"], each["scored"], each["changes"]) for each in found["changed"]] == [
        ("image-pull", True, ["scenario: expected_outcomes.root_cause.patterns"]),
        ("out-of-memory", False, ["scenario: description (added)"]),
    ]
    text = done(ledger, "eval", "suite", "diff", "one", "two").text
    assert "changed: image-pull (scores cannot be compared)" in text
    digest = str(listed["versions"][1]["suite_digest"])
    assert done(ledger, "eval", "suite", "show", digest[:8]).out == done(ledger, "eval", "suite", "show", "one").out
    assert "node-full" in done(ledger, "eval", "suite", "show", "two").text
    assert "There is no suite 'kubes'" in refused(ledger, "eval", "suite", "list", "--suite", "kubes", code=1)


def test_a_run_without_files_says_so_and_a_later_run_of_the_same_digest_helps(
    ledger: Path, fixtures: Path, tmp_path: Path
) -> None:
    evaluate(ledger, fixtures, "--run", "old", "--no-keep-files")
    assert "suite_files_digest" not in started(ledger, "old")
    assert evidence_events(ledger) == []
    shown = done(ledger, "eval", "suite", "show", "old")
    assert "not kept" in shown.text
    assert "are not in the ledger" in shown.err
    assert answered(ledger, "eval", "suite", "show", "old")["version"]["state"] == "not_kept"
    for words in (("eval", "suite", "save", "old", "--to", str(tmp_path / "no")), ("eval", "run", "--suite-of", "old")):
        assert "No run kept the files" in tally(ledger, *words).err
    assert not (tmp_path / "no").exists()
    evaluate(ledger, fixtures, "--run", "new")
    done(ledger, "eval", "suite", "save", "old", "--to", str(tmp_path / "yes"))
    assert contents(tmp_path / "yes") == contents(fixtures)


@pytest.mark.slow
def test_an_erased_file_is_named_and_not_stored_again(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    digest = sha256((fixtures / "image-pull" / "investigation.json").read_bytes()).hexdigest()
    done(ledger, "evidence", "erase", digest, "--reason", "it names a person", "--yes")
    evaluate(ledger, fixtures, "--run", "two")
    assert started(ledger, "one")["suite_files_digest"] == started(ledger, "two")["suite_files_digest"]
    (version,) = answered(ledger, "eval", "suite", "list")["versions"]
    assert (version["state"], version["files"], version["files_stored"]) == ("incomplete", 6, 5)
    assert "investigation.json erased" in done(ledger, "eval", "suite", "show", "one").text
    shown = done(ledger, "eval", "show", "one", "--fixture", "image-pull").text
    assert "erased: it names a person" in shown
    assert "hush-image-pull" in shown, "the other file is shown"
    target = tmp_path / "saved"
    for words in (("eval", "suite", "save", "one", "--to", str(target)), ("eval", "run", "--suite-of", "two")):
        assert "image-pull/investigation.json (it names a person)" in tally(ledger, *words).err
    assert not target.exists()
    assert "was erased" in refused(
        ledger, "eval", "suite", "show", "one", "--file", "image-pull/investigation.json", code=1
    )
    manifest = str(started(ledger, "one")["suite_files_digest"])
    done(ledger, "evidence", "erase", manifest, "--reason", "all of it", "--yes")
    evaluate(ledger, fixtures, "--run", "three")
    assert "list erased" in done(ledger, "eval", "suite", "list").text
    assert "list of its files was erased" in done(ledger, "eval", "suite", "show", "one").err


def test_a_missing_or_altered_blob_is_reported_and_nothing_is_written(
    ledger: Path, fixtures: Path, tmp_path: Path
) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    digest = sha256((fixtures / "image-pull" / "scenario.json").read_bytes()).hexdigest()
    (blob,) = ledger.with_name("ledger.db.evidence").rglob(digest)
    blob.unlink()
    ended = tally(ledger, "eval", "suite", "save", "one", "--to", tmp_path / "saved")
    assert ended.code != 0
    assert digest in ended.err
    assert not (tmp_path / "saved").exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize(
    "path",
    [
        "/etc/scenario.yaml", "../scenario.yaml", "a/../../scenario.yaml", "a/./scenario.yaml", "a//scenario.yaml",
        "scenario.yaml", "a/b/c/scenario.yaml", "a/passwd", "a/scenario.yaml/investigation.json", "a\0/scenario.yaml",
    ],
)  # fmt: skip
def test_a_hostile_manifest_writes_nothing(ledger: Path, fixtures: Path, tmp_path: Path, path: str) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    digest = sha256((fixtures / "image-pull" / "scenario.json").read_bytes()).hexdigest()
    name = begin_with(ledger, json.dumps({"a/scenario.yaml": digest, path: digest}).encode())
    before = {each for each in tmp_path.rglob("*") if each.parent.name != "ledger.db.evidence"}
    for words in (("save", name, "--to", str(tmp_path / "saved")), ("show", name)):
        assert "the list of its files" in refused(ledger, "eval", "suite", *words)
    assert "the list of its files" in refused(ledger, "eval", "run", "--suite-of", name)
    assert before >= {each for each in tmp_path.rglob("*") if "saved" in each.name}


@pytest.mark.parametrize("manifest", [b"[]", b"{}", b"\xff", b'{"a/scenario.yaml": "1"}', b'{"a/scenario.yaml": 1}'])
def test_evidence_that_is_no_manifest_is_refused(ledger: Path, fixtures: Path, manifest: bytes) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    assert "the list of its files" in refused(ledger, "eval", "suite", "show", begin_with(ledger, manifest))


def begin_with(ledger: Path, manifest: bytes) -> str:
    """Begin a run of a suite version with any bytes as the manifest; the run's id."""
    digest = done(ledger, "evidence", "put", "-", given=manifest).text.strip()
    data = {"run_id": "hostile", "suite": "evil", "suite_digest": "e" * 64, "suite_files_digest": digest}
    done(ledger, "append", "-", given=json.dumps({"type": "eval.started.v2", "data": data}).encode())
    return "hostile"


def test_save_refuses_a_folder_with_files_and_a_link_to_one(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    full, empty, link, file = (tmp_path / name for name in ("full", "empty", "link", "file"))
    for folder in (full, empty):
        folder.mkdir()
    (full / "mine").write_text("mine")
    link.symlink_to(full)
    file.write_text("mine")
    for target in (full, link, file, file / "below"):
        error = tally(ledger, "eval", "suite", "save", "one", "--to", target).err
        assert "othing was written" in error, (target, error)
    assert contents(full) == {"mine": b"mine"}
    assert file.read_text() == "mine"
    done(ledger, "eval", "suite", "save", "one", "--to", empty)
    assert contents(empty) == contents(fixtures)


def test_options_that_exclude_each_other_and_unknown_names(ledger: Path, fixtures: Path) -> None:
    assert "FIXTURES: no suite is named" in refused(ledger, "eval", "run")
    evaluate(ledger, fixtures, "--run", "one")
    assert "--suite-of: is given beside a folder" in refused(ledger, "eval", "run", fixtures, "--suite-of", "one")
    for words in (("show", "none"), ("save", "none", "--to", "x"), ("diff", "one", "none"), ("show", "one", "nothing")):
        assert "error: " in refused(ledger, "eval", "suite", *words, code=1)
    assert "beside an option" in refused(ledger, "eval", "show", "one", "--fixture", "image-pull", "--analyses")
    assert "Its scenarios: crash-loop" in refused(ledger, "eval", "suite", "show", "one", "nothing", code=1)
    assert "Its files: crash-loop/" in refused(ledger, "eval", "suite", "show", "one", "--file", "x", code=1)
    assert "There is no run" in refused(ledger, "eval", "run", "--suite-of", "none")
    empty = ledger.with_name("empty.db")
    assert "There is no run" in refused(empty, "eval", "suite", "save", "one", "--to", "x", code=1)


@pytest.mark.slow
def test_resuming_keeps_the_manifest_and_works_without_the_folder(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    line = agent(notes, "if case == 'image-pull' and number == 1:\n    os.kill(parent, signal.SIGINT)\nanswer('x')")
    evaluate(ledger, fixtures, "--agent", line, "--run", "one")
    before = started(ledger, "one")
    assert before["suite_files_digest"]
    shutil.rmtree(fixtures)
    ended = tally(ledger, "eval", "run", "--no-baselines", "--suite-of", "one", "--resume", "one", "--agent", line)
    assert ended.code in {1, 2}, ended.err
    assert started(ledger, "one") == before
    assert of_type(events(ledger, "one"), "finished")


@pytest.mark.slow
def test_a_file_over_the_limit_is_refused_before_anything_is_written(ledger: Path, fixtures: Path) -> None:
    investigation = {"evidence": {"log": "x" * EVIDENCE_BYTES_MAX}}
    (fixtures / "image-pull" / "investigation.json").write_text(json.dumps(investigation))
    assert "is larger than" in refused(ledger, "eval", "run", fixtures)
    assert not ledger.exists()
    investigation = {"evidence": {"log": "x" * (EVIDENCE_BYTES_MAX - 100)}}
    (fixtures / "image-pull" / "investigation.json").write_text(json.dumps(investigation))
    evaluate(ledger, fixtures, "--run", "one")
    assert answered(ledger, "eval", "suite", "list")["versions"][0]["state"] == "stored"


def test_a_folder_whose_name_is_not_utf_8_is_refused_before_anything_is_written(ledger: Path, tmp_path: Path) -> None:
    made = scenario(tmp_path / "kube", "odd", captured={"rca": {"root_cause": "the cause of odd"}})
    made.rename(made.parent / "od\udcffd")
    assert "is not UTF-8" in refused(ledger, "eval", "run", made.parent, "--no-baselines")
    assert evidence_events(ledger) == []
    assert evaluate(ledger, made.parent, "--no-keep-files").code == 0


@pytest.mark.slow
def test_through_a_server_it_is_the_same(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    unused = tmp_path / "unused.db"
    evaluate(tmp_path / "direct.db", fixtures, "--run", "one")
    with served(ledger) as server:

        def through(*words: str) -> Ended:
            return tally(unused, *words, "--url", server.url)

        ended = through("eval", "run", str(fixtures), "--no-baselines", "--run", "one")
        assert ended.code == 2, "nothing was captured to score"
        direct = [done(tmp_path / "direct.db", "eval", "suite", *words).out for words in SHOWN]
        assert [through("eval", "suite", *words).out for words in SHOWN] == direct
        before = contents(fixtures)
        shutil.rmtree(fixtures)
        assert through("eval", "suite", "save", "one", "--to", str(tmp_path / "saved")).code == 0
        assert contents(tmp_path / "saved") == before
        line = agent(tmp_path / "notes")
        ended = through("eval", "run", "--no-baselines", "--suite-of", "one", "--agent", line, "--run", "two")
        assert ended.code == 0, ended.err
        assert "Its files" in through("eval", "suite", "show", "one", "--file", "../../etc/passwd").err
    assert started(ledger, "one")["suite_files_digest"] == started(ledger, "two")["suite_files_digest"]
    assert len(evidence_events(ledger)) == len(EXPECTED) + 1
    assert not unused.exists()


SHOWN = (
    ("show", "one", "image-pull"),
    ("show", "one", "--file", "image-pull/investigation.json"),
    ("diff", "one", "one"),
)


@pytest.mark.slow
def test_two_runs_at_once_store_each_file_once(ledger: Path, tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "many", [f"case-{number}" for number in range(130)])
    with served(ledger) as server:
        ended: list[Ended] = []

        def run(name: str) -> None:
            words = ("eval", "run", fixtures, "--no-baselines", "--run", name, "--url", server.url)
            ended.append(tally(tmp_path / f"{name}.db", *words))

        threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [each.code for each in ended] == [2, 2], [each.err for each in ended]
    assert started(ledger, "one")["suite_files_digest"] == started(ledger, "two")["suite_files_digest"]
    stored = evidence_events(ledger)
    assert len(stored) == len(set(stored)) == 2 * 130 + 1


@pytest.mark.slow
def test_without_permission_nothing_is_shown_or_begun(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    reads, appends = (
        done(ledger, "token", "add", name, "--scope", name).text.split()[-1] for name in ("read", "append")
    )
    with served(ledger) as server:
        for words in (("list",), ("show", "one"), ("save", "one", "--to", str(tmp_path / "no"))):
            ended = tally(tmp_path / "x.db", "eval", "suite", *words, "--url", server.url, "--token", appends)
            assert "may not read" in ended.err or "read" in ended.err, ended.err
            assert ended.code != 0
        assert not (tmp_path / "no").exists()
        ended = tally(tmp_path / "x.db", "eval", "suite", "show", "one", "--url", server.url, "--token", reads)
        assert ended.code == 0, ended.err
        ended = tally(
            tmp_path / "x.db", "eval", "run", "--suite-of", "one", "--run", "two", "--url", server.url, "--token", reads
        )
        assert ended.code == 2, ended.err
    assert events(ledger, "two") == []


def test_an_export_carries_the_files(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    evaluate(ledger, fixtures, "--run", "one")
    export = tmp_path / "export"
    done(ledger, "export", "--evidence", "--output", export)
    assert done(ledger, "verify", export).code == 0
    copy = tmp_path / "copy.db"
    done(copy, "import", "ledger", export)
    done(copy, "eval", "suite", "save", "one", "--to", tmp_path / "saved")
    assert contents(tmp_path / "saved") == contents(fixtures)
