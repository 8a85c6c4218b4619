"""Files of results of promptfoo, version 3, as `promptfoo eval -o FILE.json` and `promptfoo export eval` write them.

Source: the files that promptfoo 0.123.1 writes. Members that are not named here are skipped without being decoded, or
only counted.
"""

from contextlib import suppress
from typing import Any

import msgspec

from api.importers.results.lenient_json import LenientDecoder
from api.importers.results.source_file import SourceFile
from events.decode_error_messages import DECODE_ERRORS

VERSION = 3
"""The version of results that is read."""

FAILED_WITH_ERROR = 2
"""`failureReason` of a result that has no score: its provider or an assertion ended in an error."""

EXPORT = "Export it with `promptfoo export eval ID -o results.json`."

Raws = list[msgspec.Raw]


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """An object of the file."""


class ResultProvider(_Part, frozen=True):
    """The provider of an answer."""

    id: str = ""
    label: str | None = None

    @property
    def name(self) -> str:
        """The label that its owner gave it, or else its id."""
        return self.label or self.id


class TokenCounts(_Part, frozen=True):
    """Tokens of an answer; those of its assertions are beside."""

    prompt: Any = None
    completion: Any = None
    total: Any = None
    cached: Any = None
    assertions: Any = None


class ResultAssertion(_Part, frozen=True):
    """An assertion, as the test states it."""

    type: str = ""
    value: Any = None
    metric: str | None = None
    weight: Any = None
    threshold: Any = None


class Grading(_Part, frozen=True):
    """The result of one assertion, or of all assertions of a test."""

    pass_: bool = msgspec.field(name="pass", default=False)
    score: float | None = None
    reason: str | None = None
    assertion: ResultAssertion | None = None
    named_scores: dict[str, Any] | None = None
    component_results: "list[Grading | None] | None" = None
    metadata: dict[str, Any] | None = None
    comment: str | None = None


class ResultResponse(_Part, frozen=True):
    """What the provider returned."""

    output: Any = None
    cost: Any = None
    cached: bool | None = None
    metadata: dict[str, msgspec.Raw] | None = None
    audio: msgspec.Raw | None = None
    images: msgspec.Raw | None = None
    video: msgspec.Raw | None = None


class ResultTest(_Part, frozen=True):
    """The test of a result."""

    description: str | None = None
    vars: Any = None
    assert_: Any = msgspec.field(name="assert", default=None)
    threshold: float | None = None
    metadata: dict[str, msgspec.Raw] | None = None


class ResultPrompt(_Part, frozen=True):
    """The prompt of a result, with its variables filled in."""

    raw: Any = None
    label: str | None = None


class EvalResult(_Part, frozen=True):
    """One answer of one provider to one prompt with one test."""

    test_idx: int
    prompt_idx: int
    success: bool
    score: float | None
    provider: ResultProvider | str | None = None
    prompt_id: str = ""
    prompt: ResultPrompt = ResultPrompt()
    vars: Any = None
    test_case: ResultTest = ResultTest()
    error: str | None = None
    failure_reason: int | None = None
    grading_result: Grading | None = None
    named_scores: dict[str, Any] | None = None
    latency_ms: Any = None
    cost: Any = None
    token_usage: TokenCounts | None = None
    response: ResultResponse | None = None

    @property
    def owner(self) -> ResultProvider:
        """The provider; older files have its id alone."""
        return self.provider if isinstance(self.provider, ResultProvider) else ResultProvider(self.provider or "")


class PromptMetrics(_Part, frozen=True):
    """What promptfoo itself counted for one prompt of one provider."""

    score: Any = None
    test_pass_count: int = 0
    test_fail_count: int = 0
    test_error_count: int = 0
    named_scores: dict[str, Any] | None = None


class PromptColumn(_Part, frozen=True):
    """One prompt of one provider: a column of promptfoo's table."""

    label: str | None = None
    id: str | None = None
    metrics: PromptMetrics | None = None


class EvalStats(_Part, frozen=True):
    """What promptfoo counted in the evaluation."""

    duration_ms: Any = None


class EvalSummary(_Part, frozen=True):
    """The results of an evaluation."""

    version: int
    results: list[EvalResult]
    timestamp: str | None = None
    prompts: list[PromptColumn] = []
    stats: EvalStats | None = None


class EvalConfig(_Part, frozen=True):
    """The configuration, as far as it is kept."""

    description: str | None = None
    tags: dict[str, Any] | None = None


class EvalMetadata(_Part, frozen=True):
    """What wrote the file."""

    promptfoo_version: str | None = None
    author: str | None = None


class EvalFile(_Part, frozen=True):
    """The file."""

    results: EvalSummary
    eval_id: str | None = None
    config: EvalConfig = EvalConfig()
    metadata: EvalMetadata = EvalMetadata()
    traces: Raws | None = None


class _Versioned(_Part, frozen=True):
    version: Any = None


_decoder = LenientDecoder(EvalFile)
_version = msgspec.json.Decoder(_Versioned)


MEMBERS = frozenset({"evalId", "results"})
"""Members of the object by which its JSON is recognised."""


def recognizes(source: SourceFile) -> bool:
    """Tell whether a file is of promptfoo, also in a form that is not read."""
    return source.members.keys() >= MEMBERS or _is_other_form(source)


def _is_other_form(source: SourceFile) -> bool:
    """Tell whether it is JSON Lines or YAML of promptfoo."""
    return {"promptIdx", "testIdx", "gradingResult"} <= source.first_line.keys() or source.data[:7] == b"evalId:"


def decode_file(source: SourceFile) -> EvalFile:
    """Return the content of a file. Errors: InvalidEvent, with the place in the file."""
    if _is_other_form(source):
        raise source.fault(
            "JSON Lines and YAML of promptfoo are not read; the lines have no id of the evaluation.", EXPORT
        )
    results = source.members.get("results")
    if results is None:
        raise source.fault("it is not JSON of promptfoo: an object with `evalId` and `results` was expected.", EXPORT)
    version: Any = None
    with suppress(*DECODE_ERRORS):
        version = _version.decode(results).version
    if version != VERSION or isinstance(version, bool):
        detail = f"the version of its results is {version if isinstance(version, int) else 'not stated'}; "
        raise source.fault(f"{detail}version {VERSION} is read.", "Run the evaluation again with a newer promptfoo.")
    return source.decode(_decoder, source.data, f"it is not results of promptfoo, version {VERSION}", EXPORT)
