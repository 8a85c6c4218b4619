"""The versions of suites that evaluations used: by the digest of what they ask and expect.

Runs of one suite digest have the same scenarios with the same inputs and expectations. Their files may still differ, in
white space or in a description: each list of files has a digest of its own.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from ledger.clock import moment_of
from projections.evaluation.score_context import RunSpan

DIGESTS_MAX = 20
"""The most lists of files of a version: those of the last begun runs."""


class SuiteVersion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A version of a suite: its digest, and the runs that used it, without those of baselines.

    `files_digests` are the lists of its files, that of the last begun run first; empty if no run kept its files.
    `scenarios` is the largest number of scenarios of a run; None if no run states one.
    """

    suite: str
    suite_digest: str
    runs: int
    first_at: datetime
    last_at: datetime
    first_run: str
    last_run: str
    scenarios: int | None = None
    files_digests: tuple[str, ...] = ()


def build_suite_versions(runs: Iterable[RunSpan], suite: str | None = None) -> list[SuiteVersion]:
    """Return the versions of each suite, or of one, the last used first. Runs without a suite digest are left out."""
    by_version: dict[tuple[str, str], list[RunSpan]] = {}
    for run in runs:
        started = run.started
        if started.suite_digest is not None and started.baseline is None and suite in (None, started.suite):
            by_version.setdefault((started.suite, started.suite_digest), []).append(run)
    versions = [_version(sorted(of_version, key=lambda run: run.start_us)) for of_version in by_version.values()]
    return sorted(versions, key=lambda version: (version.last_at, version.suite), reverse=True)


def _version(runs: Sequence[RunSpan]) -> SuiteVersion:
    first, last = runs[0], runs[-1]
    assert first.started.suite_digest is not None
    digests = (run.started.suite_files_digest for run in reversed(runs))
    return SuiteVersion(
        suite=first.started.suite,
        suite_digest=first.started.suite_digest,
        runs=len(runs),
        first_at=moment_of(first.start_us),
        last_at=moment_of(last.start_us),
        first_run=first.run_id,
        last_run=last.run_id,
        scenarios=max((run.started.scenarios for run in runs if run.started.scenarios is not None), default=None),
        files_digests=tuple(dict.fromkeys(digest for digest in digests if digest is not None))[:DIGESTS_MAX],
    )
