"""Run reports as files hold them: any that may be imported, small ones by hand, and the real ones where they are."""

from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.support.paths import SHARED

RUNS = SHARED / "metacal" / "runs"
REAL = sorted(RUNS.glob("*.json")) if RUNS.is_dir() else []

Json = dict[str, Any]

texts = st.text(st.characters(codec="utf-8"), max_size=40)
labels = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
counts = st.integers(0, 2**53 - 1)
shares = st.sampled_from([0, 1, 0.75, 1.0]) | st.floats(0, 1)
times = st.builds(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{}".format,
    st.integers(2, 9998), st.integers(1, 12), st.integers(1, 28), st.integers(0, 23), st.integers(0, 59),
    st.integers(0, 59), st.sampled_from(["", ".1", ".895071036", ".46163266"]),
    st.sampled_from(["Z", "+02:00", "-00:30"]),
)  # fmt: skip


def _optional(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(required, optional=optional)


models = _optional({"model_name": texts}, {"provider": texts, "version": texts, "wrapper": texts})
scores = st.builds(
    lambda counted, total: counted if total is None else {**counted, "total_score": total},
    st.dictionaries(labels.filter(lambda name: name != "total_score"), st.integers(-9, 2**53 - 1), max_size=4),
    st.none() | shares,
)
configs = _optional({}, {"max_iterations": counts, "probe_id": labels, "terminate_on_repeat": st.booleans()})
probes = _optional(
    {"probe_id": st.just("refactor-v1") | labels, "raw_output": texts},
    {
        "score": scores,
        "dimension_scores": st.dictionaries(labels, shares, max_size=3),
        "elapsed_ns": counts,
        "tokens_used": counts,
    },
)
results = _optional({"model": models, "probe": probes, "timestamp": times}, {"exclusion_prompt": texts})


run_ids = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True).filter(lambda text: text not in {".", ".."})


@st.composite
def reports(draw: st.DrawFn, run_id: str | None = None) -> Json:
    """Any report that may be imported."""
    found = draw(st.lists(results, max_size=4))
    iterations = draw(st.permutations(range(len(found))))
    reported = [{"iteration": number, **result} for number, result in zip(iterations, found, strict=True)]
    named = [result["model"] for result in reported]
    ended = draw(st.booleans())
    report: Json = {
        "run_id": run_id or draw(run_ids),
        "start_time": draw(times),
        "config": draw(configs),
        "results": reported,
        "unique_models": named if not ended else draw(st.just(named) | st.lists(models, max_size=3)),
    }
    if ended:
        report |= {"end_time": draw(times), "termination_reason": draw(labels)}
    return report


def result(iteration: int, model_name: str, output: str = "func F() {}", **probe: object) -> Json:
    """One accepted answer."""
    score = {"renames": 3, "function_splits": 2, "comments_added": 7, "structural_changes": 3, "total_score": 1}
    return {
        "iteration": iteration,
        "model": {"model_name": model_name, "provider": "P"},
        "exclusion_prompt": "",
        "probe": {"probe_id": "refactor-v1", "raw_output": output, "score": score, "elapsed_ns": 0, **probe},
        "timestamp": f"2026-02-21T16:36:{8 + iteration % 50:02}.945237141+02:00",
    }


def report(run_id: str, *models: str, **more: object) -> Json:
    """A report of a run that found some models."""
    found = [result(number, name) for number, name in enumerate(models)]
    return {
        "run_id": run_id,
        "start_time": "2026-02-21T16:35:23.895071036+02:00",
        "end_time": "2026-02-21T16:39:14.782359404+02:00",
        "config": {"max_iterations": 15, "probe_id": "refactor-v1", "terminate_on_repeat": True},
        "results": found,
        "unique_models": [one["model"] for one in found],
        "termination_reason": "report_requested",
        **more,
    }


def written(folder: Path, *reports: Json) -> list[Path]:
    """A file for each report, named by its run."""
    paths = [folder / f"{one['run_id']}.json" for one in reports]
    for path, one in zip(paths, reports, strict=True):
        path.write_bytes(msgspec.json.encode(one))
    return paths
