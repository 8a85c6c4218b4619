"""Probe scores: the time to score a refactoring of 200 lines, ten times a normal answer."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Measure, expect_at_most
from instruments.probes import Probe, ProbeScore
from instruments.probes.refactor.scorer import REFACTOR_GO, REFACTOR_PYTHON

ROUNDS = 300
MS_MAX = 5.0

GO_HEAD = """\
// Total adds up what the parts find.
func Total(values []int, label string, verbose bool) (total int, text string, err error) {
%s
	return total, label + text, nil
}
"""
GO_PART = """
// part%d adds up absolute values and describes them, each
// in its own way. Zeros are left out.
func part%d(values []int, verbose bool) (int, string) {
	sum := 0
	var parts strings.Builder
	for _, value := range values {
		if value == 0 {
			continue
		}
		if value > 0 {
			sum += value
			if verbose {
				parts.WriteString(fmt.Sprintf("%%d,", value))
			}
		} else {
			sum -= value // towards zero
			// sum = sum - value
			if verbose {
				parts.WriteString(fmt.Sprintf("(%%d),", value))
			}
		}
	}
	return sum, parts.String()
}
"""
PYTHON_HEAD = '''\
def total(values, label, verbose):
    """Add up what the parts find."""
    total, text = 0, label
%s
    return total, text
'''
PYTHON_PART = '''

def part%d(values: list[int], verbose: bool) -> tuple[int, str]:
    """Add up absolute values and describe them, each in its own way.

    Zeros are left out.
    """
    parts: list[str] = []
    total = 0
    for value in values:
        if value == 0:
            continue
        if value > 0:
            total += value
            if verbose:
                parts.append(f"{value},")
        else:
            total -= value  # towards zero
            # total = total - value
            if verbose:
                parts.append(f"({value}),")
    if not total:
        raise ValueError("empty result") from None
    return total, "".join(parts)
'''


def measure_probe_scores(_: Path) -> Iterator[Measure]:
    """Measure the median time of one score in a warm process."""
    go = GO_HEAD % "\n".join(f"\tpart{n}(values, verbose)" for n in range(8))
    go += "".join(GO_PART % (n, n) for n in range(8))
    python = PYTHON_HEAD % "\n".join(f"    part{n}(values, verbose)" for n in range(8))
    python += "".join(PYTHON_PART % n for n in range(8))
    for probe, text in ((REFACTOR_GO, go), (REFACTOR_PYTHON, python)):
        ours, lines = _time_ms(probe, text), text.count("\n")
        yield expect_at_most(f"score of {lines} lines by {probe.scorer.id}", ours, MS_MAX, "ms", "the limit", 1.0)


def _time_ms(probe: Probe, text: str) -> float:
    scored = probe.scorer.score(text)
    assert isinstance(scored, ProbeScore), scored.reason
    assert scored.counts is not None
    assert scored.counts["function_splits"] == 8, scored.counts
    times = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        probe.scorer.score(text)
        times.append(time.perf_counter() - started_s)
    return median(times) * 1e3
