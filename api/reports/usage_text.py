"""Say in words and cells what answers used: tokens, cost and latency."""

from collections.abc import Iterable, Iterator, Sequence

from api.reports.format import DASH, seconds, usd, whole_number
from api.text_format import pluralize
from projections.evaluation.usage_figures import Quantity, UsageFigures
from projections.evaluation.view_types import ScenarioResult, ScoreRow

USAGE_COLUMNS = ("tokens in", "tokens out", "cost", "median cost", "median latency", "95% latency")
"""The headings of `usage_cells`: totals of tokens and cost, the median cost, median latency and its 95th percentile."""


def has_costs(figures: Iterable[UsageFigures | None]) -> bool:
    """Return whether tokens or a cost are known, and not the latency alone."""
    return any(
        usage is not None and (usage.input_tokens or usage.output_tokens or usage.cost_usd) is not None
        for usage in figures
    )


def known_columns(figures: Sequence[UsageFigures | None]) -> list[int]:
    """Return the numbers of the columns of `usage_cells` that have a figure in some row."""
    rows = [usage_cells(usage) for usage in figures]
    return [column for column in range(len(USAGE_COLUMNS)) if any(row[column] != DASH for row in rows)]


def usage_cells(usage: UsageFigures | None) -> tuple[str, ...]:
    """Return the figures of `USAGE_COLUMNS`; dashes for those that are not known."""
    if usage is None:
        return (DASH,) * len(USAGE_COLUMNS)
    return (
        token_total(usage.input_tokens),
        token_total(usage.output_tokens),
        cost_total(usage),
        median_cost(usage),
        median_latency(usage),
        p95_latency(usage),
    )


def usage_lines(usage: UsageFigures | None) -> Iterator[str]:
    """Yield a sentence for cost, tokens and latency each: total and median, and how many tries state none."""
    if usage is None:
        return
    if (cost := usage.cost_usd) is not None:
        yield f"Cost {usd(cost.total)} in total, {usd(cost.median)} at the median{_unstated(cost, usage)}."
    for name, tokens in (("Input", usage.input_tokens), ("Output", usage.output_tokens)):
        if tokens is not None:
            total, middle = whole_number(tokens.total), whole_number(tokens.median)
            yield f"{name} tokens {total} in total, {middle} at the median{_unstated(tokens, usage)}."
    if (latency := usage.elapsed_ns) is not None:
        ends = f"{_seconds(latency.median)} at the median, {_seconds(latency.p95)} at the 95th percentile"
        yield f"Latency {ends}{_unstated(latency, usage)}."


def _unstated(quantity: Quantity, usage: UsageFigures) -> str:
    """Return how many tries do not state a value, and how many tries more than attempts there were."""
    missing = usage.tries - quantity.stated
    tries = pluralize(usage.attempts, "attempt")
    if usage.tries > usage.attempts:
        tries += f" with {usage.tries:,} tries"
    return f", of {tries}" + (f"; {missing:,} {'states' if missing == 1 else 'state'} none" if missing else "")


def token_total(tokens: Quantity | None) -> str:
    """Return the total of tokens; a dash if it is not known."""
    return DASH if tokens is None else whole_number(tokens.total)


def cost_total(usage: UsageFigures | None) -> str:
    """Return the total cost; `at least`, as a sign, if some try does not state it."""
    if usage is None or usage.cost_usd is None:
        return DASH
    return f"{'≥ ' if usage.cost_usd.stated < usage.tries else ''}{usd(usage.cost_usd.total)}"


def median_cost(usage: UsageFigures | None) -> str:
    """Return the median cost of an attempt's last try."""
    return DASH if usage is None or usage.cost_usd is None else usd(usage.cost_usd.median)


def median_latency(usage: UsageFigures | None) -> str:
    """Return the median latency."""
    return DASH if usage is None or usage.elapsed_ns is None else _seconds(usage.elapsed_ns.median)


def p95_latency(usage: UsageFigures | None) -> str:
    """Return the 95th percentile of the latency."""
    return DASH if usage is None or usage.elapsed_ns is None else _seconds(usage.elapsed_ns.p95)


def models_of(rows: Sequence[ScoreRow]) -> str:
    """Return the models that answered, as the endpoint reported or the answer named them; empty without any."""
    return ", ".join(dict.fromkeys(model for row in rows if (model := row.reported_model or row.model) is not None))


def describe_try(row: ScoreRow) -> str:
    """Return model, tokens and cost of one answer; empty if it states none."""
    parts = [models_of([row])]
    if row.input_tokens is not None or row.output_tokens is not None:
        parts.append(f"{whole_number(row.input_tokens)} tokens in, {whole_number(row.output_tokens)} out")
    if row.cost_usd is not None:
        parts.append(usd(row.cost_usd))
    if row.retry is not None:
        parts.append(f"retry {row.retry}")
    return ", ".join(filter(None, parts))


def scenario_cells(result: ScenarioResult) -> tuple[str, ...]:
    """Return the model and the figures of `SCENARIO_USAGE_COLUMNS` of a scenario."""
    usage = result.usage
    tokens = (None, None) if usage is None else (usage.input_tokens, usage.output_tokens)
    return (models_of(result.rows) or DASH, *map(token_total, tokens), cost_total(usage), median_latency(usage))


SCENARIO_USAGE_COLUMNS = ("model", "tokens in", "tokens out", "cost", "latency")
"""The headings of `scenario_cells`: tokens and cost of all tries, and the median latency."""


def _seconds(value_ns: float | None) -> str:
    return seconds(None if value_ns is None else round(value_ns))
