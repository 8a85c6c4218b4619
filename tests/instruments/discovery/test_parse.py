"""Reading one answer: where an identity is accepted, which part is the code, and what is refused."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruments.discovery import analyze, build_exclusion, build_prompt
from instruments.discovery.answer_analysis import Verdict
from instruments.probes import Probe
from tests.instruments.discovery.answers import CODE, identity
from tests.instruments.questions import GO, PYTHON, STIMULUS, TEXT
from tests.support.paths import SHARED

NOVA = identity("Nova-1")
SPREAD = json.dumps(json.loads(NOVA), indent=2)
FENCED = f"```go\n{CODE}```"
PY = "def total(numbers):\n    return sum(numbers)\n"
RESPONSES = SHARED / "metacal" / "responses"


def name_in(text: str, probe: Probe = GO) -> str | None:
    found = analyze(text, probe).identity
    return None if found is None else found.model_name


PLACES = {
    "on the first line": f"{NOVA}\n\n{FENCED}",
    "on many lines": f"{SPREAD}\n\n{FENCED}",
    "in a fence": f"```json\n{NOVA}\n```\n{FENCED}",
    "in a fence on many lines": f"```JSON\n{SPREAD}\n```\n\n{FENCED}",
    "in a fence without a label": f"```\n{NOVA}\n```\n{FENCED}",
    "in a fence of tildes": f"~~~\n{NOVA}\n~~~\n{FENCED}",
    "on the fence's own line": f"```json {NOVA}\n```\n{FENCED}",
    "in a fence that is not closed": f"```json\n{NOVA}\n{FENCED}",
    "after prose": f"Sure! Here is who I am.\n\n{NOVA}\n\nAnd the code:\n{FENCED}",
    "after prose on its line": f"My identity: {NOVA}\n{FENCED}",
    "after it's": f"Here's who I am: {NOVA}\n{FENCED}",
    "in bold": f"**Identity:** `{NOVA}`\n\n{FENCED}",
    "in a quote": f"> {NOVA}\n\n{FENCED}",
    "in a list": f"- {NOVA}\n\n{FENCED}",
    "after the code": f"{FENCED}\n\n{NOVA}\n",
    "after the code in a fence": f"{FENCED}\n\n```json\n{SPREAD}\n```",
    "at the head of the one fence": f"```\n{NOVA}\n\n{CODE}```",
    "at the head of the code's fence": f"```go\n{SPREAD}\n{CODE}\n```",
    "before code without a fence": f"{NOVA}\n\n{CODE}",
    "after code without a fence": f"{CODE}\n\n{NOVA}",
    "twice the same": f"{NOVA}\n{FENCED}\n{NOVA}",
    "under one of its other names too": f"{NOVA}\n{FENCED}\n{identity('acme/nova-1-20250101')}",
    "after the placeholder echoed": f'{{"model_name": "<name>", "provider": "<provider>"}}\n{NOVA}\n{FENCED}',
    "after an unknown": f"{identity('unknown')}\n{NOVA}\n{FENCED}",
    "as an object's identity": f'{{"identity": {NOVA}}}\n{FENCED}',
    "in camel case": f'{{"modelName": "Nova-1", "provider": "Acme", "version": "1"}}\n{FENCED}',
    "in lines": f"model_name: Nova-1\nprovider: Acme\nversion: 1\n\n{FENCED}",
    "in lines of markdown": f"- **Model Name:** Nova-1\n- **Provider:** Acme\n- **Version:** `1`\n\n{FENCED}",
    "in lines of yaml": f"```yaml\nmodel_name: Nova-1\nprovider: Acme\nversion: '1'\n```\n{FENCED}",
    "in lines that are not quite JSON": (
        f"{{\n  'model_name': 'Nova-1',\n  'provider': 'Acme',\n  'version': '1',\n}}\n{FENCED}"
    ),
    "in windows' lines": f"{NOVA}\r\n\r\n{FENCED}".replace("\n", "\r\n"),
    "in colours": f"\x1b[1;32m{NOVA}\x1b[0m\n{FENCED}",
    "after thinking": f"<think>\n{identity('b')}\n```go\nfunc b() {{}}\n```\n</think>\n\n{NOVA}\n{FENCED}",
    "after a byte order mark": f"\ufeff{NOVA}\n{FENCED}",
}


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_an_identity_counts_where_it_may_stand(text: str) -> None:
    found = analyze(text, GO)
    assert found.verdict == "identified", found.reason
    assert found.identity is not None
    assert (found.identity.model_name, found.identity.provider, found.identity.version) == ("Nova-1", "Acme", "1")
    assert found.key == "nova-1"
    assert found.code is not None
    assert found.code.replace("\r", "").strip() == CODE.strip()
    assert found.score == GO.scorer.score(found.code)


NO_PLACES = {
    "a comment in the code": f"```go\n// {NOVA}\n{CODE}```",
    "a block comment in the code": f"```go\n{CODE}/*\n{NOVA}\n*/\n```",
    "a string in the code": f"```go\n{CODE}\nvar who = `\n{NOVA}\n`\n```",
    "a comment in code without a fence": f"// {NOVA}\n{CODE}",
    "a comment amid code without a fence": f"{CODE}\n/*\n{NOVA}\n*/\n",
    "a string in code without a fence": f"{CODE}\nvar who = `{NOVA}`\n",
    "a string on lines of its own": f"{CODE}\nvar who = `\n\n{NOVA}\n`\n",
    "an assignment": f"who := {NOVA}\n\n{FENCED}",
    "within another value": f'{{"answers": [{NOVA}]}}\n{FENCED}',
    "a list of others": f"[\n{NOVA},\n{identity('b')}\n]\n{FENCED}",
    "those whom it must not be": f"Excluded: {NOVA}\n{FENCED}",
    "not me": f"I am not {NOVA}\n{FENCED}",
    "a sentence": f"I am Nova-1 by Acme.\n{FENCED}",
    "a line of several": f"model_name: Nova-1, provider: Acme\n{FENCED}",
    "a thought": f"<think>\n{NOVA}\n</think>\n{FENCED}",
    "a model of another kind": f"Model: linear regression\n\n{FENCED}",
    "by the name model": f'{{"model": "Nova-1", "provider": "Acme", "version": "1"}}\n{FENCED}',
    "by the name model in lines": f"Model: Nova-1\nProvider: Acme\n\n{FENCED}",
    "by its provider alone": f'{{"provider": "Acme", "wrapper": "Cursor"}}\n{FENCED}',
    "JSON that breaks off": f'{{"model_name": "Nova-1", "provider": "Ac\n{FENCED}',
    "the prompt": build_prompt(GO.prompt),
    "the prompt with somebody excluded": f"> Task:\n{build_prompt(GO.prompt, [])}\n{FENCED}",
    "the placeholder": f'{{"model_name": "<name>", "provider": "<provider>"}}\n{FENCED}',
    "nothing": FENCED,
}


@pytest.mark.parametrize("text", NO_PLACES.values(), ids=NO_PLACES)
def test_an_identity_does_not_count_where_it_is_somebody_elses_or_code(text: str) -> None:
    found = analyze(text, GO)
    assert (found.verdict, found.identity, found.key, found.known, found.wrapper) == (
        "unparsable",
        None,
        None,
        False,
        False,
    )
    assert "identity" in found.reason


@pytest.mark.parametrize("name", ["by the name model", "by the name model in lines", "a model of another kind"])
def test_a_model_without_a_model_name_is_named_in_the_reason(name: str) -> None:
    found = analyze(NO_PLACES[name], GO)
    assert found.reason == "no identity is in the answer: it states a model, but no model_name"


def test_an_echo_of_the_excluded_names_is_nobody() -> None:
    excluded = [analyze(f"{identity(name)}\n{FENCED}", GO).identity for name in ("alpha", "beta")]
    names = [each for each in excluded if each is not None]
    echo = f"I was told:\n\n{build_exclusion(names)}\n"
    assert name_in(f"{echo}{NOVA}\n{FENCED}") == "Nova-1"
    assert name_in(f"{echo}{FENCED}") is None
    assert name_in(f"{build_prompt(GO.prompt, names)}\n\n{NOVA}\n{FENCED}") == "Nova-1"


def test_two_identities_are_a_contradiction() -> None:
    for other in (identity("b-2"), "model_name: b-2"):
        found = analyze(f"{NOVA}\n{FENCED}\n\n{other}", GO)
        assert (found.verdict, found.identity) == ("unparsable", None)
        assert found.reason == "the answer contradicts itself: it says it is 'Nova-1' and 'b-2'"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("4.10", "its model_name is no text, but a number"),
        ("NaN", "its model_name is no text, but a number"),
        ("1" * 5_000, "its model_name is no text, but a number"),
        ("null", "its model_name is no text, but null"),
        ("true", "its model_name is no text, but true or false"),
        ('["a"]', "its model_name is no text, but a list"),
        ('{"a": 1}', "its model_name is no text, but an object"),
        (json.dumps("n" * 999), "its model_name has 999 characters, and a name at most 256"),
    ],
)
def test_a_name_of_another_kind_is_none(value: str, complaint: str) -> None:
    found = analyze(f'{{"model_name": {value}, "provider": "Acme"}}\n{FENCED}', GO)
    assert (found.verdict, found.identity) == ("unparsable", None)
    assert found.reason == f"no identity can be read from the answer: {complaint}"


def test_other_fields_may_be_anything() -> None:
    text = (
        '{"model_name": " Nova\\u0000\\n\\ud800 1 ", "provider": ["x"], "version": 4.10, "wrapper": "<host>", "a": {}}'
    )
    found = analyze(f"{text}\n{FENCED}", GO).identity
    assert found is not None
    assert (found.model_name, found.provider, found.version, found.wrapper) == ("Nova 1", None, "4.10", None)
    assert msgspec.json.encode(found)


@pytest.mark.parametrize("name", ["unknown", "", "N/A", "[model]"])
def test_a_name_that_names_nothing_is_kept_and_identifies_nobody(name: str) -> None:
    found = analyze(f"{identity(name)}\n{FENCED}", GO)
    assert found.verdict == "unparsable"
    assert found.identity is not None
    assert found.identity.model_name == name
    assert found.reason == f"its identity names no model: {name!r}"
    assert found.code == CODE


@pytest.mark.parametrize("text", [f"{identity('Cursor')}\n{FENCED}", identity("github copilot")])
def test_a_wrapper_is_one_whether_or_not_it_answers(text: str) -> None:
    found = analyze(text, GO)
    assert (found.verdict, found.wrapper, found.known) == ("wrapper", True, False)


def test_the_owner_says_what_names_mean() -> None:
    class Owner:
        def known(self, name: str) -> bool:
            return name == "Cursor"

        def is_wrapper(self, name: str) -> bool:
            return name == "Acme Gateway"

    found = analyze(f"{identity('Cursor')}\n{FENCED}", GO, Owner())
    assert (found.verdict, found.wrapper, found.known) == ("identified", False, True)
    found = analyze(f"{identity('Acme Gateway')}\n{FENCED}", GO, Owner())
    assert (found.verdict, found.wrapper, found.known) == ("wrapper", True, False)


CODES = {
    "a label": f"```go\n{CODE}```",
    "another label": f"```golang\n{CODE}```",
    "capitals": f"```Go\n{CODE}```",
    "words behind the label": f"``` go title=sum.go\n{CODE}```",
    "no label": f"```\n{CODE}```",
    "a label of something else": f"```c\n{CODE}```",
    "tildes": f"~~~go\n{CODE}~~~",
    "a longer fence": f"`````go\n{CODE}`````",
    "a longer end": f"```go\n{CODE}``````",
    "indentation": "\n".join(f"   {line}" for line in f"```go\n{CODE}```".split("\n")),
    "no end": f"```go\n{CODE}",
    "its end behind the code": f"```go\n{CODE.rstrip()}```",
    "prose around": f"Here it is:\n```go\n{CODE}```\nI hope it helps.",
    "shell beside": f"```sh\ngo test ./... && go vet ./... && go build -o sum . # and so on\n```\n```go\n{CODE}```",
    "Python beside": f"```python\n{PY}    # far, far longer than the other one\n```\n```go\n{CODE}```",
    "less beside": f"```go\nfunc g() {{}}\n```\n```go\n{CODE}```",
    "words without a function beside": f"```go\n// {'very ' * 40} long\n```\n```\n{CODE}```\n",
    "the task repeated": f"```go\n{STIMULUS}{'/' * 99}\n```".replace("/" * 99, "") + f"\n```go\n{CODE}```",
    "no fence": CODE,
    "no fence and prose around": f"Here it is:\n\n{CODE}\nI hope it helps.",
}


@pytest.mark.parametrize("text", CODES.values(), ids=CODES)
def test_code_counts_in_any_fence(text: str) -> None:
    assert analyze(f"{NOVA}\n\n{text}", GO).code == CODE


def test_code_of_the_task_alone_is_an_answer() -> None:
    assert analyze(f"{NOVA}\n```go\n{STIMULUS}```", GO).code == STIMULUS


def test_a_comment_that_opens_code_without_a_fence_belongs_to_it() -> None:
    documented = f"// sum counts.\n{CODE}"
    assert analyze(f"{NOVA}\n\n{documented}", GO).code == documented


@pytest.mark.parametrize(
    "text",
    [
        "I would rather not.",
        "```sh\ngo test\n```",
        f"```python\n{PY}```",
        "func",
        "```\nfun\n```",
    ],
)
def test_an_answer_without_code_is_unparsable(text: str) -> None:
    found = analyze(f"{NOVA}\n\n{text}", GO)
    assert (found.verdict, found.code, found.score) == ("unparsable", None, None)
    assert found.reason == "no Go function is in the answer"


@pytest.mark.parametrize("label", ["python", "py", "python3", "Py3", "", "text"])
def test_python_is_found_by_its_labels_and_functions(label: str) -> None:
    assert analyze(f"{NOVA}\n```{label}\n{PY}```", PYTHON).code == PY


def test_python_without_a_fence() -> None:
    documented = f'"""Sums.\n\n{identity("b")}\n"""\n\nimport math\n\n\nasync {PY}'
    assert analyze(f"{NOVA}\n\n{documented}", PYTHON).code == documented
    assert analyze(f"{documented}\n\n{NOVA}\n", PYTHON).code == documented
    assert name_in(f"{documented}\n\n{NOVA}\n", PYTHON) == "Nova-1"
    assert analyze(f"{NOVA}\n```go\n{CODE}```", PYTHON).reason == "no Python function is in the answer"


WORDS = "The pool ran dry.\n\nBecause of a leak."


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (f"{NOVA}\n\n{WORDS}\n", WORDS),
        (f"{WORDS}\n\n{NOVA}", WORDS),
        (f"```json\n{NOVA}\n```\n\n{WORDS}", WORDS),
        (f"{NOVA}\n```text\n{WORDS}\n```", WORDS),
        (f"```\n{NOVA}\n{WORDS}\n```", WORDS),
        (f"model_name: Nova-1\nprovider: Acme\n\n{WORDS}", WORDS),
        (f"{NOVA}\nSee:\n~~~sh\nls\n~~~\nThen go.", "See:\n\n```sh\nls\n```\n\nThen go."),
        (f"{NOVA}\n- {{1, 2}} is a set\n- so is {{3}}", "- {1, 2} is a set\n- so is {3}"),
        (f"{NOVA}\nVersion: 2.14.0 leaks.\nProvider: none", "Version: 2.14.0 leaks.\nProvider: none"),
    ],
)
def test_an_answer_in_words_is_what_stands_beside_the_identity(text: str, output: str) -> None:
    found = analyze(text, TEXT)
    assert (found.verdict, found.code) == ("identified", output)


def test_an_identity_alone_answers_nothing() -> None:
    assert analyze(NOVA, TEXT).reason == "no text beside the identity is in the answer"


@pytest.mark.parametrize(
    "text",
    ["EXCLUDED", "\n  EXCLUDED.", "**EXCLUDED**", "> EXCLUDED: I am on the list.", "# EXCLUDED", '"EXCLUDED"',
     "Excluded.", "<think>I am.</think>\n\nEXCLUDED", "\x1b[31mEXCLUDED\x1b[0m",
     "```\nEXCLUDED\n```", "~~~text\nEXCLUDED\n~~~", "EXCLUDED\n" + NOVA, f"EXCLUDED — it is me {FENCED}"],
)  # fmt: skip
def test_a_refusal_begins_with_the_word(text: str) -> None:
    for probe in (GO, PYTHON, TEXT):
        assert analyze(text, probe).verdict == "refused"


def test_a_refusal_may_say_who_refuses() -> None:
    for probe in (GO, TEXT):
        found = analyze(f"{NOVA}\n\nEXCLUDED", probe)
        assert found.verdict == "refused"
        assert found.identity is not None
        assert found.code is None


@pytest.mark.parametrize(
    "word",
    ["EXCLUDED_MODELS is a name", "EXCLUDEDNESS", "Excluded models are many", "I am not EXCLUDED", "un-EXCLUDED"],
)
def test_other_words_are_no_refusal(word: str) -> None:
    assert analyze(f"{NOVA}\n{word}", TEXT).verdict == "identified"
    assert analyze(f"{word}\n{FENCED}", GO).verdict == "unparsable"


@pytest.mark.parametrize("text", [None, "", " \n\t", "```\n```", "\x00\x07", "\u200b\ufeff", "{}", "---"])
def test_nothing_is_empty(text: str | None) -> None:
    assert analyze(text, GO).verdict == "empty"


@pytest.mark.skipif(not RESPONSES.is_dir(), reason="the shared data is not here")
@pytest.mark.parametrize(
    ("name", "verdict", "key"),
    [
        ("combined", "identified", "claude-sonnet-4-20250514"),
        ("foundation_gpt4o", "identified", "gpt-4o"),
        ("excluded", "refused", None),
        ("no_identity", "unparsable", None),
        ("wrapper_cursor", "wrapper", "cursor"),
    ],
)
def test_stored_responses_are_what_their_names_say(name: str, verdict: Verdict, key: str | None) -> None:
    found = analyze((RESPONSES / f"response_{name}.txt").read_text(encoding="utf-8"), GO)
    assert (found.verdict, found.key, found.wrapper) == (verdict, key, verdict == "wrapper")
    assert (found.code is None) == (name == "excluded") or found.identity is None


@pytest.mark.skipif(not RESPONSES.is_dir(), reason="the shared data is not here")
def test_stored_exclusion_prompts_are_no_identity() -> None:
    runs = [json.loads(path.read_bytes()) for path in (RESPONSES.parent / "runs").glob("*.json")]
    prompts = {result["exclusion_prompt"] for run in runs for result in run["results"]} - {""}
    assert len(prompts) > 5
    for text in prompts:
        assert analyze(text, GO).verdict == "unparsable"
        assert name_in(f"{text}\n{NOVA}\n{FENCED}") == "Nova-1"


PIECES = st.sampled_from([
    "```", "~~~", "````", "\n", "go", "json", "{", "}", "[", '"', ":", ",", "model_name", '{"model_name": "a"}', "//",
    "/*", "*/", "`", "func f() {", "def f():", "EXCLUDED", "\\u0000", "\ud800", "\x00", "\r", "\u2028", "<name>",
    "provider: x", "model: y", " ", "\t", ">", "-", "é", "🜁", "1e999", "NaN", "<think>", "</think>", "\x1b[0m",
])  # fmt: skip
TEXTS = st.text() | st.lists(PIECES, max_size=40).map("".join)


@given(TEXTS, st.sampled_from([GO, PYTHON, TEXT]))
def test_any_text_is_read_the_same_twice_and_can_be_stored(text: str, probe: Probe) -> None:
    found = analyze(text, probe)
    assert msgspec.json.encode(found) == msgspec.json.encode(analyze(text, probe))
    assert (found.verdict == "identified") <= (found.identity is not None and found.code is not None)
    assert (found.key is None) == (found.identity is None)
    assert (found.score is None) == (found.code is None)


@given(TEXTS)
def test_code_never_says_who_wrote_it(text: str) -> None:
    fenced = "".join(f"// {line}\n" for line in text.splitlines())
    assert name_in(f"{NOVA}\n```go\n{CODE}{fenced}```") == "Nova-1"


CHARS = 100_000
HOSTILE = {
    unit[:20]: unit * (CHARS // len(unit))
    for unit in (
        "`", "~", "``` ", "```\n", "```a\n", "~~~\n```\n", "{", "[", "{}", "[]", "{x\n", '{"a":', '{"a":\n', '{"',
        "{\n", "[\n", '"', "\\", "*", "*_", "**E", "> ", " ", "\t", "\n", "\r", "a", "é", ":", "a:b\n", "model_name:",
        "- ", "//", "model_name: a\n", 'model_name: "', "func ", "func f(", "def f():\n", "}\n", "EXCLUDE", "EXCLUDED ",
        "<", "<name>", '{"model_name": "a"}\n', '{"model_name": 1}', "\n\n{", '{"model_name": "a",\n', "1", "e9",
        "\x00", "\u2028", "\ud800", "model[]", "{model\n", '{"model": [', "#\n", "//\n", "'a", "@a\n",
        "\n\n{model", " \n#", "<think>", "\x1b[", "\x1b[1;",
    )
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=[ascii(name) for name in HOSTILE])
def test_much_of_anything_is_read(text: str) -> None:
    """What is not linear stalls here for minutes; no time is measured."""
    analyze(f"{NOVA}\n{text}\n{FENCED}", GO)
    analyze(f"{NOVA}\n{text}\n{PY}", PYTHON)
    analyze(f"{text}\n{NOVA}", TEXT)


@pytest.mark.slow
def test_a_megabyte_of_everything_is_read() -> None:
    pieces = [text[: 1_000_000 // len(HOSTILE)] for text in HOSTILE.values()]
    for text in ("".join(pieces), "\n".join(reversed(pieces))):
        assert len(text) > 900_000
        for probe in (GO, PYTHON, TEXT):
            analyze(text, probe)
