"""Draw the calibration curve, with its bands and the numbers of reviews."""

from collections.abc import Iterator, Sequence

from api.reports.plots.figure_source import Figure, FigureSource
from api.reports.plots.panel import LEFT, RIGHT, TOP, Panel, draw_legend, percent_ticks
from api.reports.plots.svg import Chart, Heading, draw_text
from api.reports.plots.tables import tabulate_curve
from api.text_format import format_figure, format_interval
from projections.calibration.figure_text import format_percent
from tallystick.shapes.calibration import Bucket, Corp
from tallystick.shapes.parts import Interval

HEIGHT = 830
BOTTOM = 560
"""The lower edge of the area of the curve, in SVG units."""

COUNTS_TOP, COUNTS_BOTTOM = 620, 684
"""The edges of the bars below the curve, which show numbers of reviews."""

_panel = Panel.between(percent_ticks(), percent_ticks(), BOTTOM)


def chart_calibration(source: FigureSource) -> Chart:
    """Chart the curve of all decisions. Errors: FigureMissing, for a view without a curve.

    Shapes: the calibration curve (CORP), the bands in which a calibrated agent's curve lies in 95% of samples, at any
            one confidence (darker) and at all of them (lighter), the success rate of each range of confidence with its
            interval, and the number of reviews of each confidence.
    """
    scores, buckets = source.scores("curve"), source.answer.buckets
    if not scores.corp.curve:
        raise source.too_few("curve")
    stated, right = format_percent(scores.mean_confidence, 1), format_percent(scores.accuracy, 1)
    gap = f"{format_figure(scores.gap, '+')} ({format_interval(scores.gap_interval, '+')})"
    return Chart(
        HEIGHT,
        f"Calibration curve of {source.subject}: {scores.reviewed:,} reviewed decisions, "
        f"stated {stated} on average, {right} successful",
        Heading(
            source.subject,
            f"{scores.reviewed:,} reviews: stated {stated}, successful {right}",
            f"Gap {gap}, Brier score {scores.brier_score:.3f}",
        ),
        [
            *_panel.draw_axes("stated confidence", "share of successes"),
            *_draw_band(scores.corp),
            f'<line class="perfect" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{TOP}"/>',
            _panel.draw_line("curve", ((p.confidence, p.recalibrated) for p in scores.corp.curve)),
            *map(_range_mark, buckets),
            *_review_bars(scores.corp, buckets),
            *_legend(),
        ],
    )


def _draw_band(corp: Corp) -> Iterator[str]:
    if corp.band:
        at_every = ((one.confidence, Interval(one.simultaneous_low, one.simultaneous_high)) for one in corp.band)
        yield _panel.draw_band("whole", at_every)
        yield _panel.draw_band("band", ((one.confidence, Interval(one.low, one.high)) for one in corp.band))


def _range_mark(bucket: Bucket) -> str:
    """Draw the success rate of a range of confidence above the mean stated confidence in that range."""
    label = f"Stated {bucket.bucket}: {format_percent(bucket.success_rate, 1)} of {bucket.decisions:,} successful"
    estimate = _panel.draw_estimate(bucket.mean_confidence, bucket.success_rate, bucket.success_rate_interval)
    return f"<g><title>{label}</title>{''.join(estimate)}</g>"


def _review_bars(corp: Corp, buckets: Sequence[Bucket]) -> Iterator[str]:
    """Draw a bar for each stated confidence, and the number of reviews in each range as text."""
    curve = corp.curve or ()
    reviewed_max = max(point.reviewed for point in curve)
    for point in curve:
        x, height = _panel.x.at(point.confidence), (COUNTS_BOTTOM - COUNTS_TOP) * point.reviewed / reviewed_max
        yield (
            f'<rect class="count" x="{x - 4:.1f}" y="{COUNTS_BOTTOM - height:.1f}" width="8" height="{height:.1f}"/>'
        )
    yield f'<path class="grid" d="M{LEFT} {COUNTS_BOTTOM}H{RIGHT}"/>'
    for bucket in buckets:
        low, high = (float(end) for end in bucket.bucket.split("-"))
        left, right = _panel.x.at(low), _panel.x.at(high)
        yield f'<path class="edge" d="M{left:.1f} {COUNTS_TOP}V{COUNTS_BOTTOM + 24}"/>'
        yield draw_text((left + right) / 2, COUNTS_BOTTOM + 22, f"{bucket.decisions:,}", "ink", "middle")
    yield draw_text(LEFT + 8, COUNTS_TOP + 12, "number of reviews", "", "start")


def _legend() -> Iterator[str]:
    first, second, third, right = HEIGHT - 96, HEIGHT - 68, HEIGHT - 40, 250
    yield from draw_legend(first, (("curve", "calibration curve"), ("perfect", "perfect")))
    for y, label in ((first, "95% of calibrated, at one point"), (second, "95% of calibrated, at every point")):
        yield f'<rect class="whole" x="{right}" y="{y - 14}" width="34" height="16"/>'
        yield draw_text(right + 44, y, label, "", "start")
    yield f'<rect class="band" x="{right}" y="{first - 14}" width="34" height="16"/>'
    yield f'<path class="whisker" d="M{right + 17} {third - 16}v20"/>'
    yield f'<circle class="dot" cx="{right + 17}" cy="{third - 6}" r="6"/>'
    yield draw_text(right + 44, third, "a range of confidence, 95% interval", "", "start")


FIGURE = Figure(
    "Reliability curve",
    "Across is the confidence that was stated, upwards the share that succeeded. On the dashed line both are "
    "equal; below it the agent was overconfident, above it underconfident. The curve of a calibrated agent stays "
    "within the lighter band in 95% of samples. Bars count the reviews of each confidence.",
    chart_calibration,
    tabulate_curve,
    curves=True,
)
