"""Draw the calibration curve as one self-contained SVG image, for light and dark pages."""

from collections.abc import Iterator, Sequence

from api.reports.escape import escape_html, one_line
from api.reports.svg import STYLE, draw_text, format_percent
from projections.calibration.calibration_view import CalibrationView
from projections.calibration.corp import Corp
from projections.calibration.scores import Bucket, CalibrationScores

WIDTH, HEIGHT = 640, 830
LEFT, RIGHT, TOP, BOTTOM = 78, 604, 128, 560
"""The edges of the area of the curve, in SVG units."""
COUNTS_TOP, COUNTS_BOTTOM = 620, 684
"""The edges of the bars below the curve, which show numbers of reviews."""
SUBJECT_CHARS_MAX = 44


def calibration_plot(view: CalibrationView, subject: str, position: int) -> str | None:
    """Draw the curve of all the decisions in a view; return None for a view without a curve.

    Shapes: the calibration curve (CORP), the bands in which a calibrated agent's curve lies in 95% of samples, at any
            one confidence (darker) and at all of them (lighter), the success rate of each range of confidence with its
            interval, and the number of reviews of each confidence.
    Units:  `position` is that of the newest event in the view.
    """
    scores = view.overall
    if scores is None or not scores.corp.curve:
        return None
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="t">',
        f'<title id="t">{escape_html(_summary(scores, subject))}</title><style>{STYLE}</style>',
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>',
        *_heading(scores, subject),
        *_axes(),
        *_band(scores.corp),
        f'<line class="perfect" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{TOP}"/>',
        f'<polyline class="curve" points="{_path((p.confidence, p.recalibrated) for p in scores.corp.curve)}"/>',
        *(mark for bucket in view.buckets for mark in _range_mark(bucket)),
        *_review_bars(scores.corp, view.buckets),
        *_legend(position),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _summary(scores: CalibrationScores, subject: str) -> str:
    return (
        f"Calibration curve of {one_line(subject)}: {scores.reviewed:,} reviewed decisions, "
        f"stated {format_percent(scores.mean_confidence)} on average, {format_percent(scores.accuracy)} successful"
    )


def _heading(scores: CalibrationScores, subject: str) -> Iterator[str]:
    low, high = scores.gap_interval.low, scores.gap_interval.high
    stated, right = format_percent(scores.mean_confidence), format_percent(scores.accuracy)
    yield draw_text(28, 44, one_line(subject, SUBJECT_CHARS_MAX), "ink subject", "start")
    yield draw_text(28, 74, f"{scores.reviewed:,} reviews: stated {stated}, successful {right}", "ink", "start")
    gap = f"Gap {scores.gap:+.3f} ({low:+.3f} to {high:+.3f}), Brier score {scores.brier_score:.3f}"
    yield draw_text(28, 100, gap, "", "start")


def _axes() -> Iterator[str]:
    for percent in (0, 25, 50, 75, 100):
        x, y = _point(percent / 100, percent / 100)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}M{x:.1f} {TOP}V{BOTTOM}"/>'
        yield draw_text(LEFT - 8, y + 6, f"{percent}%", "", "end")
        yield draw_text(x, BOTTOM + 24, f"{percent}%", "", "middle")
    middle = (TOP + BOTTOM) / 2
    yield f'<text transform="translate(24 {middle}) rotate(-90)" text-anchor="middle">share of successes</text>'
    yield draw_text((LEFT + RIGHT) / 2, BOTTOM + 46, "stated confidence", "", "middle")


def _band(corp: Corp) -> Iterator[str]:
    bounds = corp.band or []
    if bounds:
        upper = _path((bound.confidence, bound.high) for bound in bounds)
        lower = _path((bound.confidence, bound.low) for bound in reversed(bounds))
        highest = _path((bound.confidence, bound.simultaneous_high) for bound in bounds)
        lowest = _path((bound.confidence, bound.simultaneous_low) for bound in reversed(bounds))
        yield f'<path class="whole" d="M{highest} {lowest}Z"/>'
        yield f'<polygon class="band" points="{upper} {lower}"/>'


def _range_mark(bucket: Bucket) -> Iterator[str]:
    """Draw the success rate of a range of confidence above the mean stated confidence in that range."""
    x, y = _point(bucket.mean_confidence, bucket.success_rate)
    top, bottom = (_point(0, end)[1] for end in (bucket.success_rate_interval.high, bucket.success_rate_interval.low))
    label = f"Stated {bucket.bucket}: {format_percent(bucket.success_rate)} of {bucket.decisions:,} successful"
    yield f'<g><title>{label}</title><line class="whisker" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
    yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="6"/></g>'


def _review_bars(corp: Corp, buckets: Sequence[Bucket]) -> Iterator[str]:
    """Draw a bar for each stated confidence, and the number of reviews in each range as text."""
    curve = corp.curve or []
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


def _legend(position: int) -> Iterator[str]:
    first, second, third, left, right = HEIGHT - 96, HEIGHT - 68, HEIGHT - 40, 28, 250
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
    yield draw_text(WIDTH - 28, HEIGHT - 10, f"as of position {position:,}", "", "end")


def _point(stated: float, rate: float) -> tuple[float, float]:
    """Return the coordinates of a stated confidence and a success rate."""
    return LEFT + (RIGHT - LEFT) * stated, BOTTOM - (BOTTOM - TOP) * rate


def _path(points: Iterator[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (_point(*point) for point in points))
