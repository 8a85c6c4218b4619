"""Read a test run of DeepEval: each metric becomes a run, which all its test cases have.

A metric that another model evaluates is another scorer, so the model and the strict mode are the scorer's version. Test
cases with one name, input and expectation are attempts, and so are the repeats of `deepeval test run --repeat`. The
file states neither an id nor a time: a run's id follows from the content. A score of 1 are 100 points.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from api.importers.results.deepeval_file import (
    MEMBERS,
    RUN_AGAIN,
    MetricData,
    MetricScores,
    TestCase,
    TestRun,
    decode_file,
    recognizes,
)
from api.importers.results.imported_run import (
    ImportedFile,
    ImportedRun,
    ImportedScore,
    checked_component,
    content_digest,
    mean_over_scenarios,
    points_of,
)
from api.importers.results.lenient_json import number
from api.importers.results.source_file import ResultsReader, SourceFile
from events.evaluation import POINTS_MAX
from events.limits import ITEMS_MAX, LABEL_CHARS_MAX
from instruments.stored_text import count_of, text_of

PROGRAM = "deepeval"

META_CHARS_MAX = 200
"""Characters of a hyperparameter that are kept."""

META_MAX = ITEMS_MAX - 16
"""Hyperparameters that are kept."""

_repeat = re.compile(r"(?P<name>.*)\[(?:(?P<case>.*)-)?(?P<number>\d{1,6})-(?P<of>\d{1,6})\]", re.DOTALL)


class _Scorer(NamedTuple):
    """A metric with the model that evaluates it."""

    metric: str
    model: str | None
    strict: bool

    @property
    def version(self) -> str | None:
        return " ".join(filter(None, (self.model, "strict" if self.strict else None)))[:LABEL_CHARS_MAX] or None


class _Attempt(NamedTuple):
    """A test case with the name of its scenario, the number of the attempt, and what the answer used."""

    sample: str
    attempt: int
    case: TestCase
    usage: dict[str, Any]


def read(source: SourceFile) -> ImportedFile:
    """Read a test run. Errors: InvalidEvent."""
    content, whole = decode_file(source)
    file = source.result("deepeval", PROGRAM)
    cases = [*content.test_cases, *content.conversational_test_cases]
    attempts = _attempts(file, cases)
    scorers: dict[_Scorer, list[tuple[_Attempt, MetricData]]] = defaultdict(list)
    for attempt in attempts:
        for metric in _metrics(file, attempt.case):
            scorer = _Scorer(metric.name, metric.evaluation_model or None, bool(metric.strict_mode))
            scorers[scorer].append((attempt, metric))
    if not scorers:
        raise source.fault("none of its test cases has the result of a metric.", RUN_AGAIN)
    identity = content_digest(whole)
    file.runs = [_run(file, content, identity, scorer, measured) for scorer, measured in scorers.items()]
    _count_rest(file, content, cases)
    return file


def _metrics(file: ImportedFile, case: TestCase) -> list[MetricData]:
    """Return the metrics of a test case; of several with one name, those after the first have a number."""
    names: Counter[str] = Counter()
    metrics = []
    for metric in case.metrics_data or ():
        name = metric.name or "metric"
        names[name] += 1
        renamed = name if names[name] == 1 else f"{name} {names[name]}"
        metrics.append(metric if renamed == metric.name else msgspec.structs.replace(metric, name=renamed))
    file.leave_out("test cases without the result of a metric", int(not metrics), case.name)
    return metrics


def _content(case: TestCase) -> str:
    """Return what two attempts at a test case have in common: everything but the answer."""
    questions = [turn.content for turn in case.turns if turn.role == "user"] if case.scenario is None else None
    return content_digest(case.input, case.context, case.scenario, questions, *_expectation(case))


def _expectation(case: TestCase) -> tuple[Any, ...]:
    return case.expected_output, case.expected_tools, case.expected_outcome


def _usage(file: ImportedFile, case: TestCase) -> dict[str, Any]:
    """Return what the answer used, as the fields of a score; count what no event can state."""
    return {
        "input_tokens": file.tokens(case.input_token_count),
        "output_tokens": file.tokens(case.output_token_count),
        "cost_usd": file.cost(number(case.token_cost)),
        "elapsed_ns": file.elapsed_ns(case.completion_time, "times of answers (completionTime)"),
    }


def _attempts(file: ImportedFile, cases: Sequence[TestCase]) -> list[_Attempt]:
    """Give each test case its scenario and the number of its attempt."""
    contents = [_content(case) for case in cases]
    names = _names_without_repeats(cases, contents)
    different: defaultdict[str, set[str]] = defaultdict(set)
    for name, content in zip(names, contents, strict=True):
        different[name].add(content)
    tried: Counter[str] = Counter()
    attempts = []
    for name, content, case in zip(names, contents, cases, strict=True):
        sample = name if len(different[name]) == 1 else f"{name} {content[:8]}"
        tried[sample] += 1
        attempts.append(_Attempt(sample or "test", tried[sample], case, _usage(file, case)))
    return attempts


def _names_without_repeats(cases: Sequence[TestCase], contents: Sequence[str]) -> list[str]:
    """Return the names, without the number that `--repeat` adds where all repeats are there and have one content."""
    numbers: defaultdict[tuple[str, str | None, int], set[int]] = defaultdict(set)
    found: defaultdict[tuple[str, str | None, int], set[str]] = defaultdict(set)
    matches = [_repeat.fullmatch(case.name) for case in cases]
    keys = [None if match is None else (match["name"], match["case"], int(match["of"])) for match in matches]
    for key, match, content in zip(keys, matches, contents, strict=True):
        if key is not None and match is not None:
            numbers[key].add(int(match["number"]))
            found[key].add(content)
    names = []
    for key, case in zip(keys, cases, strict=True):
        is_repeat = (
            key is not None and len(found[key]) == 1 and len(numbers[key]) == key[2] == max(numbers[key], default=0) > 1
        )
        if not is_repeat or key is None:
            names.append(case.name)
        else:
            names.append(key[0] if key[1] is None else f"{key[0]}[{key[1]}]")
    return names


def _run(
    file: ImportedFile,
    content: TestRun,
    identity: str,
    scorer: _Scorer,
    measured: Sequence[tuple[_Attempt, MetricData]],
) -> ImportedRun:
    lower_is_better = _is_upper_bound([metric for _, metric in measured])
    if lower_is_better:
        what = "thresholds that are the highest score that passes; whether a case passed is kept"
        file.leave_out(what, sum(metric.threshold is not None for _, metric in measured), scorer.metric)
    scores = tuple(_score(file, attempt, metric, lower_is_better=lower_is_better) for attempt, metric in measured)
    parameters = content.hyperparameters or {}
    model = parameters.get("model")
    stated = [each for each in content.metrics_scores if each.metric == scorer.metric]
    mean = _mean(stated)
    prompt = content.prompts[0] if content.prompts else None
    version = None if prompt is None else " ".join(filter(None, (prompt.alias, prompt.version or prompt.hash)))
    return ImportedRun(
        identity=identity,
        part=msgspec.json.encode([scorer.model, scorer.strict]).decode(),
        suite=(content.dataset_alias or content.test_file or PROGRAM)[:LABEL_CHARS_MAX],
        agent=(model if isinstance(model, str) and model else PROGRAM)[:LABEL_CHARS_MAX],
        agent_version=(version or "")[:LABEL_CHARS_MAX] or None,
        model=model[:LABEL_CHARS_MAX] if isinstance(model, str) and model else None,
        scorer_id=scorer.metric[:LABEL_CHARS_MAX],
        scorer_version=scorer.version,
        samples=tuple(dict.fromkeys(attempt.sample for attempt, _ in measured)),
        attempts=max(attempt.attempt for attempt, _ in measured),
        stated_mean=mean_over_scenarios(mean, len(stated[0].scores) if stated else 0, scores),
        meta=_meta(file, content, scorer, measured) | ({} if mean is None else {"mean": f"{mean:.6g}"}),
        scores=scores,
    )


def _is_upper_bound(metrics: Sequence[MetricData]) -> bool:
    """Tell whether a metric passes at and below its threshold, as that of hallucination does."""
    return any(
        (score := number(metric.score)) is not None
        and (threshold := number(metric.threshold)) is not None
        and metric.success is not None
        and ((score > threshold and not metric.success) or (score < threshold and metric.success))
        for metric in metrics
    )


def _mean(stated: Sequence[MetricScores]) -> float | None:
    """Return the mean of DeepEval's own list of scores, in points; None without one."""
    numbers = [value for each in stated for value in map(number, each.scores) if value is not None]
    return sum(numbers) / len(numbers) * POINTS_MAX if len(stated) == 1 and numbers else None


def _meta(
    file: ImportedFile, content: TestRun, scorer: _Scorer, measured: Sequence[tuple[_Attempt, MetricData]]
) -> dict[str, str]:
    costs = [cost for _, metric in measured if (cost := number(metric.evaluation_cost)) is not None]
    known = {
        "identifier": content.identifier,
        "test_file": content.test_file,
        "dataset_version": content.dataset_version,
        "evaluation_model": scorer.model,
        "evaluation_cost_usd": f"{sum(costs):g}" if costs else None,
    }
    meta = {name: text[:META_CHARS_MAX] for name, text in known.items() if text}
    for name, value in list((content.hyperparameters or {}).items())[:META_MAX]:
        text = "null" if value is None else text_of(value)
        meta[f"hyperparameter.{name}"[:META_CHARS_MAX]] = file.shorten(text, "hyperparameters", META_CHARS_MAX)
    return meta


def _score(file: ImportedFile, tried: _Attempt, metric: MetricData, *, lower_is_better: bool) -> ImportedScore:
    case = tried.case
    score, threshold = number(metric.score), number(metric.threshold)
    is_scored = score is not None and metric.success is not None
    points = points_of(score) if score is not None and is_scored and not metric.error else None
    mark = None if threshold is None or lower_is_better else points_of(threshold)
    detail: str | None = None
    if metric.error:
        detail = file.shorten(metric.error, "errors of metrics")
    elif points is None and is_scored:
        detail = f"the score {score:g} is not in 0..1"
        file.leave_out("scores that are not in 0..1, and whether these passed", 1, detail)
    elif score is not None:
        detail = "the metric does not state whether it passed" if points is None else None
        file.leave_out("scores of metrics that do not state whether they passed", int(points is None), f"{score:g}")
    else:
        detail = "the metric gave no score"
    expected = case.expected_output or case.expected_outcome or metric.name
    return ImportedScore(
        sample=tried.sample,
        attempt=tried.attempt,
        state="error" if metric.error else "skipped" if points is None else "scored",
        failure=None if not metric.error else "judge" if metric.evaluation_model else "component",
        points=points,
        passed=None if points is None else metric.success,
        threshold=None if points is None else mark,
        detail=detail,
        answer=_answer(case),
        components=()
        if points is None
        else (
            checked_component(
                metric.name,
                points=points,
                passed=metric.success,
                mark=mark,
                expected=file.shorten(expected, "expected outputs"),
                match_type=metric.name,
                note=file.shorten((metric.reason or "").strip(), "reasons of metrics"),
            ),
        ),
        **tried.usage,
        fixture_digest=_content(case),
        expectation_digest=content_digest(*_expectation(case)),
    )


def _answer(case: TestCase) -> str | None:
    """Return the answer; of a conversation, the last message of the assistant."""
    if case.actual_output is not None:
        return case.actual_output
    replies = [turn.content for turn in case.turns if turn.role == "assistant"]
    return replies[-1] if replies else None


def _count_rest(file: ImportedFile, content: TestRun, cases: Sequence[TestCase]) -> None:
    """Count what no score can hold."""
    file.leave_out("hyperparameters beyond the first", max(0, len(content.hyperparameters or ()) - META_MAX))
    file.leave_out("prompts beside the first", max(0, len(content.prompts or ()) - 1))
    file.leave_out("durations of the whole test run", int(content.run_duration is not None))
    file.leave_out("scores of the spans of traces", int(content.trace_metrics_scores is not None))
    for case in cases:
        parts = {
            "inputs, of which the digest is kept": case.input is not None or case.scenario is not None,
            "contexts, of which the digest is kept": _length(case.context),
            "retrieved contexts": _length(case.retrieval_context),
            "durations of test cases with their metrics": case.run_duration is not None,
            "calls of tools": _length(case.tools_called),
            "expected calls of tools, of which the digest is kept": _length(case.expected_tools),
            "messages of conversations beside the last answer": max(0, len(case.turns) - 1),
            "descriptions of users": case.user_description is not None,
            "images": _length(case.images_mapping),
            "tags of test cases": _length(case.tags),
            "metadata of test cases": _length(case.metadata),
            "comments of test cases": case.comments is not None,
            "traces": case.trace is not None,
            "expectations with results of their own": case.expectations_data is not None,
        }
        for what, count in parts.items():
            file.leave_out(what, int(count))
        for metric in case.metrics_data or ():
            tokens = (count_of(metric.input_token_count) or 0) + (count_of(metric.output_token_count) or 0)
            file.leave_out("tokens of models that evaluated metrics", tokens)
            file.leave_out("detailed logs of metrics", int(bool(metric.verbose_logs)))
            file.leave_out("marks of metrics as flaky", int(metric.flaky))


def _length(value: Any) -> int:  # noqa: ANN401 - any JSON value
    return len(value) if isinstance(value, list | dict) else int(value is not None)


DEEPEVAL = ResultsReader("deepeval", "DeepEval", recognizes, read, MEMBERS)
