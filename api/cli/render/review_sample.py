"""Print a random set of decisions to review, the commands that review them, and what their reviews tell."""

from collections.abc import Mapping
from shlex import quote

from api.cli.output import figure, open_console, table_of
from api.service.review_sample import ReviewSample
from api.text_format import format_count, format_figure, format_interval, pluralize


def print_review_sample(sample: ReviewSample, parameters: Mapping[str, str]) -> None:
    """Print a sample, and the command that draws it again; `parameters` are those of the command."""
    console = open_console()
    if not sample.decisions:
        console.print("Nothing to review: every decision that is due and states a confidence has a review.")
        return
    table = table_of(
        sample.decisions,
        {"id": "decision_id", "recorded (UTC)": "recorded_at", "agent": "agent", "category": "category",
         "stated": figure("confidence"), "outcome": lambda each: "retracted" if each.retracted else each.outcome,
         "decision": "decision"},
        right=("stated",), wrap=("agent", "category"), cut=("decision",),
        drop=("recorded (UTC)", "agent", "category", "stated", "decision"),
    )  # fmt: skip
    console.print(table)
    console.print(
        f"{pluralize(len(sample.decisions), 'decision')}, drawn at random from {format_count(sample.unreviewed)} "
        f"without a review, of {format_count(sample.total)} with a stated confidence."
    )
    _print_result(sample)
    waiting = [each.command for each in sample.decisions if each.outcome is None and not each.retracted]
    if waiting:
        console.print()
        console.print("Review each (OUTCOME is success, partial, failure or abandoned):")
        for command in waiting:
            console.print(command, soft_wrap=True)
    if sample.result is None:
        console.print()
        console.print("The same set again, with its result:")
        console.print(_repetition(sample, parameters), soft_wrap=True)


def _print_result(sample: ReviewSample) -> None:
    console = open_console()
    if sample.result is None:
        if sample.half_width is not None:
            console.print(
                f"{format_count(sample.reviewed)} of them are reviewed. When all are, the interval of the gap of all "
                f"decisions is at most about {format_figure(2 * sample.half_width)} wide."
            )
        return
    result = sample.result
    verdict = result.interpretation.replace("_", " ") + ("" if result.supported else "?")
    figure, interval = format_figure(result.gap, "+"), format_interval(result.interval, "+")
    of_agent = format_interval(result.agent_interval, "+")
    console.print(f"All are reviewed. Gap of these {format_count(sample.total)} decisions: {figure} ({interval}).")
    console.print(
        f"Gap of the agent, of whose decisions these are a sample: {figure} ({of_agent} at one look), {verdict}"
    )


def _repetition(sample: ReviewSample, parameters: Mapping[str, str]) -> str:
    """Return the command that draws a sample again."""
    words = ["tallystick", "review", "--sample", parameters["size"]]
    words += ["--seed", str(sample.seed), "--drawn-at", str(sample.drawn_at)]
    for name, value in parameters.items():
        if name not in {"size", "seed", "drawn_at"}:
            words += [f"--{name}", quote(value)]
    return " ".join(words)
