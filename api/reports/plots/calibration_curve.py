"""Draw the calibration curve, with its bands and the numbers of reviews."""

from collections.abc import Iterator, Sequence

from api.reports.plots.figure_source import FigureSource
from api.reports.plots.panel import LEFT, RIGHT, TOP, Panel, Scale, percent_ticks
from api.reports.plots.svg import MARGIN, Heading, draw_figure, draw_position, draw_text, format_gap, format_percent
from tallystick.shapes.calibration import Bucket, Corp

READING = (
    "Across is the confidence that was stated, upwards the share that succeeded. On the dashed line both are "
    "equal; below it the agent was overconfident, above it underconfident. The curve of a calibrated agent stays "
    "within the lighter band in 95% of samples. Bars count the reviews of each confidence."
)
"""How to read the drawing."""

HEIGHT = 830
BOTTOM = 560
"""The lower edge of the area of the curve, in SVG units."""

COUNTS_TOP, COUNTS_BOTTOM = 620, 684
"""The edges of the bars below the curve, which show numbers of reviews."""

_panel = Panel(Scale(0.0, 1.0, LEFT, RIGHT), Scale(0.0, 1.0, BOTTOM, TOP))


def draw_calibration_curve(source: FigureSource) -> str:
    """Draw the curve of all decisions. Errors: FigureMissing, for a view without a curve.

    Shapes: the calibration curve (CORP), the bands in which a calibrated agent's curve lies in 95% of samples, at any
            one confidence (darker) and at all of them (lighter), the success rate of each range of confidence with its
            interval, and the number of reviews of each confidence.
    """
    scores, buckets = source.scores("curve"), source.answer.buckets
    if not scores.corp.curve:
        raise source.too_few("curve")
    stated, right = format_percent(scores.mean_confidence), format_percent(scores.accuracy)
    low, high = format_gap(scores.gap_interval.low), format_gap(scores.gap_interval.high)
    return draw_figure(
        HEIGHT,
        f"Calibration curve of {source.subject}: {scores.reviewed:,} reviewed decisions, "
        f"stated {stated} on average, {right} successful",
        Heading(
            source.subject,
            f"{scores.reviewed:,} reviews: stated {stated}, successful {right}",
            f"Gap {format_gap(scores.gap)} ({low} to {high}), Brier score {scores.brier_score:.3f}",
        ),
        READING,
        [
            *_panel.draw_grid(percent_ticks(), percent_ticks()),
            *_panel.draw_titles("stated confidence", "share of successes"),
            *_draw_band(scores.corp),
            f'<line class="perfect" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{TOP}"/>',
            _panel.draw_line("curve", ((p.confidence, p.recalibrated) for p in scores.corp.curve)),
            *(mark for bucket in buckets for mark in _range_mark(bucket)),
            *_review_bars(scores.corp, buckets),
            *_legend(),
            draw_position(source.position, HEIGHT),
        ],
    )


def _draw_band(corp: Corp) -> Iterator[str]:
    bounds = corp.band or ()
    if bounds:
        highest = _panel.path((bound.confidence, bound.simultaneous_high) for bound in bounds)
        lowest = _panel.path((bound.confidence, bound.simultaneous_low) for bound in reversed(bounds))
        yield f'<path class="whole" d="M{highest} {lowest}Z"/>'
        upper = [(bound.confidence, bound.high) for bound in bounds]
        yield _panel.draw_band("band", upper, [(bound.confidence, bound.low) for bound in bounds])


def _point(stated: float, rate: float) -> tuple[float, float]:
    """Return the coordinates of a stated confidence and a success rate."""
    return _panel.x.at(stated), _panel.y.at(rate)


def _range_mark(bucket: Bucket) -> Iterator[str]:
    """Draw the success rate of a range of confidence above the mean stated confidence in that range."""
    x, y = _point(bucket.mean_confidence, bucket.success_rate)
    top, bottom = (_point(0, end)[1] for end in (bucket.success_rate_interval.high, bucket.success_rate_interval.low))
    label = f"Stated {bucket.bucket}: {format_percent(bucket.success_rate)} of {bucket.decisions:,} successful"
    yield f'<g><title>{label}</title><line class="whisker" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
    yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="6"/></g>'


def _review_bars(corp: Corp, buckets: Sequence[Bucket]) -> Iterator[str]:
    """Draw a bar for each stated confidence, and the number of reviews in each range as text."""
    curve = corp.curve or ()
    reviewed_max = max(point.reviewed for point in curve)
    for point in curve:
        x, height = _point(point.confidence, 0)[0], (COUNTS_BOTTOM - COUNTS_TOP) * point.reviewed / reviewed_max
        yield (
            f'<rect class="count" x="{x - 4:.1f}" y="{COUNTS_BOTTOM - height:.1f}" width="8" height="{height:.1f}"/>'
        )
    yield f'<path class="grid" d="M{LEFT} {COUNTS_BOTTOM}H{RIGHT}"/>'
    for bucket in buckets:
        low, high = (float(end) for end in bucket.bucket.split("-"))
        left, right = _point(low, 0)[0], _point(high, 0)[0]
        yield f'<path class="edge" d="M{left:.1f} {COUNTS_TOP}V{COUNTS_BOTTOM + 24}"/>'
        yield draw_text((left + right) / 2, COUNTS_BOTTOM + 22, f"{bucket.decisions:,}", "ink", "middle")
    yield draw_text(LEFT + 8, COUNTS_TOP + 12, "number of reviews", "", "start")


def _legend() -> Iterator[str]:
    first, second, third, left, right = HEIGHT - 96, HEIGHT - 68, HEIGHT - 40, MARGIN, 250
    yield f'<path class="curve" d="M{left} {first - 6}h34"/>'
    yield draw_text(left + 44, first, "calibration curve", "", "start")
    yield f'<path class="perfect" d="M{left} {second - 6}h34"/>'
    yield draw_text(left + 44, second, "perfect", "", "start")
    for y, label in ((first, "95% of calibrated, at one point"), (second, "95% of calibrated, at every point")):
        yield f'<rect class="whole" x="{right}" y="{y - 14}" width="34" height="16"/>'
        yield draw_text(right + 44, y, label, "", "start")
    yield f'<rect class="band" x="{right}" y="{first - 14}" width="34" height="16"/>'
    yield f'<path class="whisker" d="M{right + 17} {third - 16}v20"/>'
    yield f'<circle class="dot" cx="{right + 17}" cy="{third - 6}" r="6"/>'
    yield draw_text(right + 44, third, "a range of confidence, 95% interval", "", "start")
