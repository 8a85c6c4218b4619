"""The documents are run, and nothing a user can name is left out of them.

`python -m tests.documents --update` renews what the pages show as printed.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from api.http.pages.page_table import PAGES as WEB_PAGES
from docs._generate.insert import GENERATORS, inserted
from docs._generate.program import (
    BURST_DEFAULT,
    ERROR_TABLE,
    RATE_DEFAULT,
    SCOPES,
    VOCABULARY,
    limits,
    metrics,
    plugin_options,
    problem_name,
    routes_named,
    variables_read,
    verbs,
)  # fmt: skip
from tests.api.pages.__main__ import SCREENSHOTS
from tests.documents.page import PAGES, files_needed, name_of, needs_postgres
from tests.documents.run import run
from tests.support.paths import ROOT, SHARED
from tests.support.postgres_programs import MISSING, postgres_folder
from tests.support.server import COMMAND, serving

BESIDE = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
IMAGES = ROOT / "docs" / "images"
ANSWERS = SHARED / "calibration" / "llm_confidence.csv"
README_WORDS_MAX = 700
TERMS = (ROOT / "tests" / "documents" / "terms.txt").read_text(encoding="utf-8").splitlines()
"""What the first README named: options, fields, files, variables. A page must name each of them still."""

MANUAL = "\n".join(inserted(path.read_text(encoding="utf-8")) for path in PAGES)
EVERYTHING = MANUAL + "\n".join(path.read_text(encoding="utf-8") for path in BESIDE)

_fence = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
_span = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


def code_of(text: str) -> str:
    """All the code of a text, span by span and block by block, a line each."""
    blocks = [found[1] for found in _fence.findall(text)]
    spans = [" ".join(found[1].split()) for found in _span.findall(_fence.sub("", text))]
    return "\n".join(part.replace("\\|", "|") for part in [*spans, *blocks])


CODE = code_of(MANUAL)


def named(term: str) -> bool:
    """Whether the manual names a term as code, and not only as a part of another."""
    return re.search(rf"(?<![\w-]){re.escape(term)}(?![\w-])", CODE) is not None


@pytest.mark.slow
@pytest.mark.trial("A14")
@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_a_page_does_what_it_says(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if missing := [file.name for file in files_needed(text) if not file.is_file()]:
        pytest.skip(f"{', '.join(missing)} is not beside this checkout")
    if needs_postgres(text) and postgres_folder() is None:
        pytest.skip(MISSING)
    folder = tmp_path / "page"
    folder.mkdir()
    for shown in run(text, folder):
        assert shown.true, (
            f"{name_of(path)} shows\n{shown.block.text}\nand this is printed:\n{shown.printed}\n"
            f"Where that is right: python -m tests.documents --update {name_of(path)}"
        )
    if path.name == "README.md" or path.parent.name == "tutorials":
        assert untracked(folder) == {"?? .gitignore", "?? examples"}, "following it leaves what git would add"
    if path.name == "draw-figures.md":
        drawn = {image.name: image.read_bytes() for image in folder.glob("*.svg")}
        kept = {image.name: image.read_bytes() for image in IMAGES.glob("*.svg") if image.name != "calibration.svg"}
        assert drawn == kept, "to renew an image, run the commands of the page and copy it"


def untracked(folder: Path) -> set[str]:
    """What git would add in a checkout where a page was followed."""
    shutil.copy(ROOT / ".gitignore", folder)
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    status = ["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=all"]
    return set(subprocess.run(status, check=True, capture_output=True, text=True).stdout.splitlines())


def test_every_generator_is_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    used = set(re.findall(r"^<!-- generated: (.+) -->$", text, re.MULTILINE))
    assert used <= set(GENERATORS)
    assert {"command line", "http", "http shapes", "events"} <= used


def test_every_make_target_of_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named_targets = set(re.findall(r"`make ([a-z-]+)`", EVERYTHING)) | set(
        re.findall(r"^make ([a-z-]+)", EVERYTHING, re.MULTILINE)
    )
    assert named_targets <= targets, f"no such target: {sorted(named_targets - targets)}"
    assert {"serve", "test", "install", "bench", "docs"} <= targets
    assert targets - {"help"} <= named_targets, (
        f"name in a page or in CONTRIBUTING.md: {sorted(targets - named_targets)}"
    )


def test_every_event_type_and_its_fields_are_documented() -> None:
    missing = [name for name in VOCABULARY.type_names if not named(name)]
    missing += [
        f"{kind.name}: {field}"
        for kind in VOCABULARY.event_types.values()
        for field in kind.payload.__struct_fields__
        if not named(field)
    ]
    assert not missing


def test_every_verb_and_its_options_are_documented() -> None:
    missing = [verb.name for verb in verbs() if not named(verb.name)]
    missing += [f"{verb.name} {option}" for verb in verbs() for option in verb.options if not named(option)]
    assert not missing


def test_every_route_is_documented() -> None:
    missing = [route for route in routes_named() if not named(route)]
    assert not missing


def test_every_web_page_is_documented() -> None:
    missing = [row.path for row in WEB_PAGES if not named(row.path) and "{rest" not in row.path]
    assert not missing, f"add to docs/how-to/use-the-web-pages.md: {missing}"


def test_the_screenshots_of_the_manual_are_small() -> None:
    """`python -m tests.api.pages` renews them."""
    sizes = {path.name: path.stat().st_size for path in IMAGES.glob("*.png")}
    assert sizes.keys() == {f"{name}.png" for name in SCREENSHOTS}
    assert max(sizes.values()) < 80_000


def test_every_environment_variable_is_documented() -> None:
    read = variables_read()
    assert {"TALLYSTICK_LEDGER", "TALLYSTICK_URL", "TALLYSTICK_TOKEN"} <= read
    missing = sorted(name for name in read if not named(name))
    assert not missing, f"add to the settings: {missing}"


@pytest.mark.slow
def test_every_option_of_the_pytest_plugin_is_documented() -> None:
    options = plugin_options()
    assert "--tallystick-fixtures" in options
    assert not [option for option in options if not named(option)]


def test_every_error_is_documented() -> None:
    missing = [problem_name(error.__name__) for error in ERROR_TABLE if not named(problem_name(error.__name__))]
    assert not missing


@pytest.mark.slow
def test_every_metric_is_documented(tmp_path: Path) -> None:
    with serving(tmp_path / "tallystick.db") as url:
        served = metrics(httpx.get(f"{url}/metrics").text)
    assert "tallystick_http_requests_total" in served
    missing = sorted(name for name in served if not named(name))
    assert not missing


def test_nothing_that_was_documented_once_is_lost() -> None:
    missing = [term for term in TERMS if not named(term)]
    assert not missing, f"{len(missing)} terms that a page must name: {missing}"


def test_the_readme_is_short() -> None:
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) <= README_WORDS_MAX, f"README has {len(words)} words: move what is not a beginner's to a page"


@pytest.mark.slow
@pytest.mark.skipif(not ANSWERS.is_file(), reason="the answers of four language models are not beside this checkout")
def test_the_picture_of_the_readme_is_what_the_program_draws(tmp_path: Path) -> None:
    command = [sys.executable, "-m", COMMAND, "--ledger", str(tmp_path / "t.db")]
    mapped = ["--map", "decision=question_id", "--map", "question=question_id"]
    show = ["calibration", "--agent", "gpt-4o", "--plot", tmp_path / "calibration.svg"]
    for words in (["import", "decisions", ANSWERS, *mapped], show):
        subprocess.run([*command, *map(str, words)], cwd=ROOT, check=True, capture_output=True)
    assert (tmp_path / "calibration.svg").read_bytes() == (IMAGES / "calibration.svg").read_bytes()


def test_every_image_of_the_manual_is_shown() -> None:
    assert [path.name for path in IMAGES.iterdir() if f"images/{path.name})" not in MANUAL] == []


def test_every_dependency_is_argued() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["dev"], *extras["docs"]]
    names = [re.split(r"[<>=\[ ]", requirement)[0] for requirement in wanted]
    missing = [name for name in names if not re.search(rf"\b{re.escape(name)}\b", EVERYTHING)]
    assert not missing, f"argue each in a line: {missing}"


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\(([0-9]{4}-[a-z0-9-]+\.md)\)", (folder / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.name for page in folder.glob("[0-9]*.md"))


def test_the_figures_of_speed_are_those_of_a_run() -> None:
    rows = re.findall(r"^\|(?:append|replay|/calibration|memory)[^\n]*\|$", MANUAL, re.MULTILINE)
    assert len(rows) >= 8, "the table of speed is what `python -m benchmarks --markdown` prints"


def test_the_limits_of_the_manual_are_those_of_the_code() -> None:
    text = inserted((ROOT / "docs" / "reference" / "limits.md").read_text(encoding="utf-8"))
    figures = {figure.replace(",", "") for figure in re.findall(r"\b\d[\d,]*\b", text)}
    inside = {"BATCH_BYTES_MAX", "GROUP_EVENTS_MAX", "LINGER_S", "PAYLOAD_BYTES_MAX"}
    """Bounds of the implementation: no input is refused for them."""
    wanted = {value for name, value in vars(limits).items() if name.isupper() and name not in inside}
    wanted |= {round(RATE_DEFAULT), round(BURST_DEFAULT)}
    assert len(wanted) > 15
    assert {str(figure) for figure in wanted} <= figures
    statuses = {str(answer.status) for answer in ERROR_TABLE.values()}
    assert set(re.findall(r"\|([45]\d\d)\|$", text, re.MULTILINE)) <= statuses


@pytest.mark.trial("C19")
def test_the_security_policy_promises_no_more_than_is_so() -> None:
    text = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    for limit in (
        "Events have no signature of their author", "`recordedtime` the operator's clock",
        "The answer to an append is not signed", "The same key can sign another history",
        "effective within a second, also for event streams", "under its own name alone",
    ):  # fmt: skip
        assert limit in text
    assert "write a new history under a new key" not in text


def test_the_options_and_scopes_of_the_security_policy_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    options = {
        option
        for verb in verbs()
        if verb.name.startswith(("tallystick serve", "tallystick token"))
        for option in verb.options
    }
    of_gh_and_pip = {"--repo", "--require-hashes"}
    assert set(re.findall(r"--[a-z-]+", text)) <= options | of_gh_and_pip
    assert set(re.findall(r"scope `(\w+)`", text)) <= set(SCOPES)
    paths = {route.partition(" ")[2] for route in routes_named()}
    assert set(re.findall(r"`(/[a-z.]+)`", text)) <= paths
