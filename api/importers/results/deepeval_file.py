"""Files of test runs of DeepEval: those in `DEEPEVAL_RESULTS_FOLDER`, and `.deepeval/.latest_test_run.json`.

Source: the files that DeepEval 4.3.1 writes. Members that are not named here are skipped, or only counted.
"""

from typing import Any

import msgspec

from api.importers.results.lenient_json import LenientDecoder
from api.importers.results.source_file import SourceFile

LATEST = "testRunData"
"""The member of `.latest_test_run.json` that holds the test run."""

RUN_AGAIN = "Set DEEPEVAL_RESULTS_FOLDER, run the evaluation, and import the file test_run_*.json in that folder."


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """An object of the file."""


class MetricData(_Part, frozen=True):
    """The result of one metric for one test case. `score` is absent where the metric failed."""

    name: str
    score: Any = None
    threshold: Any = None
    success: bool | None = None
    reason: str | None = None
    strict_mode: bool | None = None
    flaky: bool = False
    evaluation_model: str | None = None
    evaluation_cost: Any = None
    input_token_count: Any = None
    output_token_count: Any = None
    error: str | None = None
    verbose_logs: str | None = None


class TestTurn(_Part, frozen=True):
    """A message of a conversation."""

    role: str = ""
    content: str = ""


class TestCase(_Part, frozen=True):
    """A test case: an answer, or a conversation."""

    name: str
    input: Any = None
    actual_output: str | None = None
    expected_output: str | None = None
    scenario: str | None = None
    expected_outcome: str | None = None
    turns: list[TestTurn] = []
    context: Any = None
    retrieval_context: Any = None
    tools_called: Any = None
    expected_tools: Any = None
    token_cost: Any = None
    input_token_count: Any = None
    output_token_count: Any = None
    completion_time: Any = None
    run_duration: Any = None
    tags: Any = None
    images_mapping: Any = None
    metrics_data: list[MetricData] | None = None
    metadata: Any = None
    comments: Any = None
    trace: Any = None
    expectations_data: Any = None
    user_description: Any = None


class MetricScores(_Part, frozen=True):
    """What DeepEval itself counted for one metric."""

    metric: str
    scores: list[Any] = []


class PromptData(_Part, frozen=True):
    """A prompt that the evaluation states."""

    alias: str | None = None
    hash: str | None = None
    version: str | None = None


class TestRun(_Part, frozen=True):
    """The file."""

    test_cases: list[TestCase] = []
    conversational_test_cases: list[TestCase] = []
    metrics_scores: list[MetricScores] = []
    test_file: str | None = None
    identifier: str | None = None
    hyperparameters: dict[str, Any] | None = None
    prompts: list[PromptData] | None = None
    dataset_alias: str | None = None
    dataset_version: str | None = None
    trace_metrics_scores: Any = None
    run_duration: Any = None


_run: LenientDecoder[TestRun] = LenientDecoder(TestRun)
_any: LenientDecoder[Any] = LenientDecoder(Any)


MEMBERS = frozenset({"testCases", "metricsScores"})
"""Members of the object by which its JSON is recognised."""


def recognizes(source: SourceFile) -> bool:
    """Tell whether a file is a test run."""
    return LATEST in source.members or source.members.keys() >= MEMBERS


def decode_file(source: SourceFile) -> tuple[TestRun, Any]:
    """Return a test run, and the same as any JSON value. Errors: InvalidEvent, with the place in the file."""
    if not recognizes(source):
        raise source.fault("it is not JSON of DeepEval: `testCases` and `metricsScores` were expected.", RUN_AGAIN)
    data = source.members.get(LATEST, source.data)
    wrong = "it is not a test run of DeepEval"
    return source.decode(_run, data, wrong, RUN_AGAIN), source.decode(_any, data, wrong, RUN_AGAIN)
