"""Read results of promptfoo: each prompt of each provider becomes a run, each repeat of a test an attempt.

The agent is the provider, its version the prompt: two prompts are compared on the same scenarios. A scenario is a test,
which its description names, or else its variables. The file has no number of a repeat: results of one prompt with equal
variables and assertions are attempts, in the order of their tests. A score of 1 are 100 points.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from api.importers.results.imported_run import (
    ERROR_CHARS_MAX,
    ImportedFile,
    ImportedRun,
    ImportedScore,
    content_digest,
    mean_over_scenarios,
    points_of,
)
from api.importers.results.lenient_json import number
from api.importers.results.promptfoo_checks import checked_components, message_of
from api.importers.results.promptfoo_file import (
    FAILED_WITH_ERROR,
    MEMBERS,
    EvalFile,
    EvalResult,
    PromptMetrics,
    ResultResponse,
    TokenCounts,
    decode_file,
    recognizes,
)
from api.importers.results.source_file import ResultsReader, SourceFile
from events.evaluation import POINTS_MAX
from events.limits import LABEL_CHARS_MAX
from instruments.stored_text import count_of, text_of

PROGRAM = "promptfoo"

SCORER = "promptfoo"
"""The id of the scorer: the assertions of the tests."""

NAME_CHARS_MAX = 60
"""Characters of a prompt or a test's variables that name it; of a longer one, the beginning and a digest do."""

DRAWN = frozenset(("sessionId", "_conversation"))
"""Variables that promptfoo itself sets for each answer."""

NO_MODEL = ("file:", "exec:", "python:", "golang:", "ruby:", "http:", "https:", "ws:", "wss:", "package:", "webhook:")
"""Beginnings of the ids of providers that name a program or an address, not a model."""

KINDS = frozenset(("chat", "completion", "completions", "responses", "messages", "embedding", "embeddings", "realtime"))
"""Words between the provider and the model in an id, such as `openai:chat:gpt-5`."""


def read(source: SourceFile) -> ImportedFile:
    """Read results. Errors: InvalidEvent."""
    content = decode_file(source)
    file = source.result("promptfoo", PROGRAM, content.metadata.promptfoo_version)
    results = sorted(content.results.results, key=lambda each: (each.prompt_idx, each.test_idx))
    if not results:
        raise source.fault("it has no results.", "Import a file of an evaluation that was run.")
    names = _sample_names(results)
    columns: defaultdict[int, list[EvalResult]] = defaultdict(list)
    for result in results:
        columns[result.prompt_idx].append(result)
    period = _period(file, content)
    file.runs = [_run(file, content, place, column, names, period) for place, column in sorted(columns.items())]
    _count_rest(file, content)
    return file


def _period(file: ImportedFile, content: EvalFile) -> tuple[datetime | None, datetime | None]:
    """Return when the evaluation began and ended; count what is no time. Errors: InvalidEvent."""
    started_at = file.time(content.results.timestamp, "times of the evaluation")
    stated = content.results.stats.duration_ms if content.results.stats else None
    duration_ms = number(stated)
    seconds = None if duration_ms is None else duration_ms / 1e3
    return started_at, file.end_after(started_at, seconds, "stats.durationMs", stated=stated is not None)


def _variables(result: EvalResult) -> Any:  # noqa: ANN401 - any JSON value
    stated = result.test_case.vars or result.vars
    if not isinstance(stated, dict):
        return stated
    return {name: value for name, value in stated.items() if name not in DRAWN}


def _content(result: EvalResult) -> str:
    """Return what two repeats of a test have in common."""
    return content_digest(_variables(result), result.test_case.assert_, result.test_case.threshold)


def _sample_names(results: Iterable[EvalResult]) -> dict[str, str]:
    """Return the name of each test by its content: as short as it can be without being that of another."""
    tests = {_content(result): result for result in results}
    described = Counter(result.test_case.description for result in tests.values())
    names: dict[str, str] = {}
    for content, result in tests.items():
        description = result.test_case.description
        variables = _shown_variables(_variables(result))
        names[content] = (
            " ".join(filter(None, (description, variables)))
            if not description or described[description] > 1
            else description
        ) or "test"
    taken = Counter(names.values())
    return {content: name if taken[name] == 1 else f"{name} {content[:8]}" for content, name in names.items()}


def _shown_variables(variables: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(variables, dict):
        return _named(", ".join(f"{name}={text_of(value)}" for name, value in sorted(variables.items())))
    return _named(text_of(variables))


def _named(text: str, length: int = NAME_CHARS_MAX) -> str:
    """Return a text that fits into a name: whole, or its beginning with a digest."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 9].rstrip()} {content_digest(text)[:8]}"


def _run(
    file: ImportedFile,
    content: EvalFile,
    place: int,
    results: Sequence[EvalResult],
    names: dict[str, str],
    period: tuple[datetime | None, datetime | None],
) -> ImportedRun:
    owner = results[0].owner
    prompt = results[0].prompt.label or text_of(results[0].prompt.raw)
    columns = content.results.prompts
    metrics = columns[place].metrics if 0 <= place < len(columns) else None
    attempts: Counter[str] = Counter()
    scores = []
    for result in results:
        test = _content(result)
        attempts[test] += 1
        scores.append(_score(file, result, names[test], attempts[test]))
    mean = _mean(metrics)
    return ImportedRun(
        identity=content.eval_id or None,
        part=str(place),
        suite=_named(content.config.description or PROGRAM, LABEL_CHARS_MAX),
        agent=_named(owner.name, LABEL_CHARS_MAX) or PROGRAM,
        agent_version=_named(prompt) or None,
        model=model_of(owner.id),
        scorer_id=SCORER,
        samples=tuple(dict.fromkeys(score.sample for score in scores)),
        attempts=max(attempts.values()),
        started_at=period[0],
        ended_at=period[1],
        stated_mean=mean_over_scenarios(mean, metrics.test_pass_count + metrics.test_fail_count, scores)
        if metrics
        else None,
        meta=_meta(content, results[0], metrics),
        scores=tuple(scores),
    )


def model_of(provider: str) -> str | None:
    """Return the model that the id of a provider names, such as `openai:chat:gpt-5`; None if it names none."""
    _, colon, model = provider.partition(":")
    if not colon or provider.startswith(NO_MODEL):
        return None
    kind, _, rest = model.partition(":")
    return _named(rest if kind in KINDS else model, LABEL_CHARS_MAX) or None


def _mean(metrics: PromptMetrics | None) -> float | None:
    """Return the mean over answers with a score, in points, from promptfoo's own sum."""
    total = None if metrics is None else number(metrics.score)
    count = 0 if metrics is None else metrics.test_pass_count + metrics.test_fail_count
    return None if total is None or count <= 0 else total / count * POINTS_MAX


def _meta(content: EvalFile, result: EvalResult, metrics: PromptMetrics | None) -> dict[str, str]:
    known = {
        "eval_id": content.eval_id,
        "provider": result.owner.id,
        "prompt_id": result.prompt_id,
        "author": content.metadata.author,
    }
    if metrics is not None:
        known["passed"] = str(metrics.test_pass_count)
        known["failed"] = str(metrics.test_fail_count)
        known["errors"] = str(metrics.test_error_count)
        known["mean"] = None if (mean := _mean(metrics)) is None else f"{mean:.6g}"
    return {name: text for name, text in known.items() if text}


def _score(file: ImportedFile, result: EvalResult, sample: str, attempt: int) -> ImportedScore:
    grading = result.grading_result
    is_error = result.failure_reason == FAILED_WITH_ERROR or (grading is None and not result.success)
    points = None if is_error or result.score is None else points_of(result.score)
    detail: str | None = None
    if is_error:
        message = message_of(file, result.error or "") or "promptfoo states no error"
        detail = file.shorten(message, "errors", ERROR_CHARS_MAX)
    elif points is None:
        detail = f"the score {result.score} is not in 0..1" if result.score is not None else "the score is not a number"
        file.leave_out("scores that are not in 0..1, and whether these passed", 1, detail)
    components = () if points is None or grading is None else checked_components(file, grading)
    if points is not None and not result.success and not components and grading is not None:
        detail = file.shorten((grading.reason or "").strip(), "reasons", ERROR_CHARS_MAX)
    _count_parts(file, result)
    threshold = result.test_case.threshold
    input_tokens, output_tokens = _tokens(file, result.token_usage)
    # promptfoo writes 0 for a provider that states no cost
    cost = number(result.response.cost if result.response is not None else result.cost or None)
    return ImportedScore(
        sample=sample,
        attempt=attempt,
        state="error" if is_error else "skipped" if points is None else "scored",
        points=points,
        passed=None if points is None else result.success,
        threshold=None if points is None or threshold is None else points_of(threshold),
        detail=detail,
        answer=None if result.response is None or result.response.output is None else text_of(result.response.output),
        components=components,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_usd=file.cost(cost),
        elapsed_ns=_elapsed_ns(file, result),
        fixture_digest=_content(result),
        expectation_digest=content_digest(result.test_case.assert_, threshold),
    )


def _tokens(file: ImportedFile, usage: TokenCounts | None) -> tuple[int | None, int | None]:
    """Return the tokens of prompt and reply; None for a provider that states none."""
    if usage is None:
        return None, None
    prompt, completion, total, cached = map(file.tokens, (usage.prompt, usage.completion, usage.total, usage.cached))
    if prompt or completion:
        file.leave_out("counts of cached tokens", int(bool(cached)))
        return prompt, completion
    file.leave_out("totals of tokens of cached answers", int(bool(cached)))
    file.leave_out("totals of tokens that are not stated for prompt and reply", int(bool(total and not cached)))
    return None, None


def _elapsed_ns(file: ImportedFile, result: EvalResult) -> int | None:
    elapsed_ns = file.elapsed_ns(result.latency_ms, "latencies of answers", per_second=1e3)
    if elapsed_ns is not None and result.response is not None and result.response.cached:
        file.leave_out("latencies of answers from promptfoo's cache")
        return None
    return elapsed_ns


def _count_parts(file: ImportedFile, result: EvalResult) -> None:
    """Count what no score can hold."""
    response = result.response or ResultResponse()
    assertions = result.token_usage.assertions if result.token_usage is not None else None
    graders = assertions.get("total") if isinstance(assertions, dict) else None
    own = {name for name in response.metadata or () if not name.startswith("_promptfoo")}
    parts = {
        "inputs (variables and prompts), of which the digest is kept": 1,
        "tokens of models that judged answers": count_of(graders) or 0,
        "metadata of tests": len(result.test_case.metadata or ()),
        "metadata of answers": len(own),
        "sounds, images and videos in answers": sum(
            each is not None for each in (response.audio, response.images, response.video)
        ),
        "comments of people": bool(result.grading_result and result.grading_result.comment),
    }
    for what, count in parts.items():
        file.leave_out(what, int(count))


def _count_rest(file: ImportedFile, content: EvalFile) -> None:
    """Count what the file has beside its results."""
    scored = {name for result in content.results.results for name in result.named_scores or ()}
    derived = {
        name for column in content.results.prompts if column.metrics for name in column.metrics.named_scores or ()
    }
    file.leave_out("configurations of the evaluation", 1)
    file.leave_out("metrics derived from others", len(derived - scored), next(iter(sorted(derived - scored)), None))
    file.leave_out("traces", len(content.traces or ()))
    file.leave_out("tags of the evaluation", len(content.config.tags or ()))


PROMPTFOO = ResultsReader("promptfoo", "promptfoo", recognizes, read, MEMBERS)
