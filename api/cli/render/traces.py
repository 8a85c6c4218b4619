"""Print the recorded steps of an attempt."""

from api.cli.output import make_table, open_console, truncate
from api.reports.escape import one_line
from api.reports.format import seconds
from api.service.evaluation.trace_queries import TraceAnswer, describe_step
from api.text_format import pluralize
from instruments.evals.trace.steps import TOOL

ARGUMENT_CHARS = 200
"""Characters of the arguments, or of a thought, that a line may have; the table cuts more."""

_NS_PER_MS = 1_000_000


def print_trace(answer: TraceAnswer) -> None:
    """Print one line for each step."""
    console = open_console()
    calls = sum(step.kind == TOOL for step in answer.steps)
    head = f"{answer.scenario_id}, attempt {answer.attempt}, run {answer.run_id}"
    counted = f"{pluralize(len(answer.steps), 'step')}, {pluralize(calls, 'tool call')}"
    console.print(f"{one_line(head)}: {counted}", soft_wrap=True)
    if not answer.steps:
        return
    numbers = ("step", "in", "out", "time")
    table = make_table(
        "step", "kind", "name", "arguments", "ok", "in", "out", "time",
        right=numbers, wrap=("name", "arguments"), drop=("in", "out"),
    )  # fmt: skip
    for number, step in enumerate(answer.steps, 1):
        table.add_row(
            str(number),
            one_line(step.kind),
            one_line(step.name or step.model or ""),
            truncate(one_line(describe_step(step), ARGUMENT_CHARS)),
            {True: "yes", False: "no", None: ""}[step.ok],
            "" if step.input_tokens is None else str(step.input_tokens),
            "" if step.output_tokens is None else str(step.output_tokens),
            "" if step.elapsed_ms is None else seconds(int(step.elapsed_ms * _NS_PER_MS)),
        )
    console.print(table)
