"""Logs of Inspect AI, made by hand in the shape that inspect-ai 0.3.285 writes, as `.json` and as `.eval`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

MODEL = "mockllm/model"
TRACEBACK = "Traceback (most recent call last):\n  ..."

Json = dict[str, Any]


def score(value: object, **more: object) -> Json:
    """One score of a sample."""
    return {"value": value, "history": [], **more}


def sample(id_: int | str, epoch: int, scores: Mapping[str, Json], error: str | None = None, **more: object) -> Json:
    """One sample in one epoch, with its transcript."""
    text = f"answer {id_} of epoch {epoch}"
    output = {
        "model": "model-2026",
        "choices": [{"message": {"id": f"m{id_}{epoch}", "role": "assistant", "content": text}, "stop_reason": "stop"}],
        "completion": text,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }
    made: Json = {
        "id": id_,
        "epoch": epoch,
        "input": f"What is {id_}?",
        "target": f"target {id_}",
        "messages": [{"role": "user", "content": f"What is {id_}?"}, {"role": "assistant", "content": text}],
        "output": {"model": "", "choices": []} if error else output,
        "scores": dict(scores) or None,
        "metadata": {},
        "store": {},
        "events": [{"event": "sample_init"}, {"event": "model"}],
        "model_usage": {
            MODEL: {"input_tokens": 10, "output_tokens": 5, "total_tokens": 17, "input_tokens_cache_read": 2}
        },
        "role_usage": {},
        "started_at": "2026-11-01T10:00:01.000000+00:00",
        "completed_at": "2026-11-01T10:00:03.500000+00:00",
        "total_time": 2.5,
        "working_time": 1.25,
        "uuid": f"u{id_}{epoch}",
        "error_retries": [],
        "attachments": {},
    }
    if error:
        made["error"] = {"message": error, "traceback": TRACEBACK, "traceback_ansi": TRACEBACK}
    return {**made, **more}


def log(
    samples: Sequence[Json], *, scorers: Sequence[str] = (), means: Mapping[str, float] = {}, **more: object
) -> Json:
    """A log with its samples; `means` are what it states as the accuracy of scorers."""
    spec = {
        "eval_id": "eval-1",
        "run_id": "run-1",
        "created": "2026-11-01T10:00:00+00:00",
        "task": "capitals",
        "task_id": "task-1",
        "task_version": 2,
        "dataset": {
            "name": "capitals",
            "samples": len({str(each["id"]) for each in samples}),
            "sample_ids": list(dict.fromkeys(each["id"] for each in samples)),
            "shuffled": False,
        },
        "model": MODEL,
        "config": {"epochs": max((each["epoch"] for each in samples), default=1)},
        "packages": {"inspect_ai": "0.3.285"},
        "scorers": [{"name": name, "options": {}, "metrics": [], "metadata": {}} for name in scorers],
    }
    figures = [
        {
            "name": name,
            "scorer": name,
            "params": {},
            "metrics": {"accuracy": {"name": "accuracy", "value": value, "params": {}}},
        }
        for name, value in means.items()
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": spec,
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": figures},
        "stats": {
            "started_at": "2026-11-01T10:00:00+00:00",
            "completed_at": "2026-11-01T10:00:10+00:00",
            "model_usage": {},
        },
        "invalidated": False,
        "samples": list(samples),
        "reductions": [{"scorer": name, "samples": []} for name in means],
        **more,
    }


def capitals() -> Json:
    """Two samples in two epochs with two scorers, and an error: their means are 0.625 and 0.5."""
    samples = [
        sample(1, 1, {"match": score("C", explanation="as expected"), "length": score(0.25)}),
        sample("b c", 1, {"match": score("I", answer="b"), "length": score(0.5)}),
        sample(1, 2, {"match": score("P"), "length": score(0.75)}),
        sample("b c", 2, {}, error="the model is away"),
        sample(3, 1, {"match": score("N"), "length": score(1)}),
        sample(3, 2, {"match": score("true"), "length": score(0)}),
    ]
    return log(samples, scorers=["match", "length"], means={"match": (0.75 + 0 + 0.5) / 3, "length": 0.5})


def as_json(folder: Path, made: Mapping[str, Any], name: str = "log.json") -> Path:
    """Write a log as one JSON file, with NaN as Inspect writes it."""
    path = folder / name
    path.write_text(json.dumps(made, indent=2))
    return path


def as_eval(folder: Path, made: Mapping[str, Any], name: str = "log.eval", method: int = ZIP_DEFLATED) -> Path:
    """Write a log as a ZIP file, with the samples in the order in which they ended: the last first."""
    path = folder / name
    parts = dict(made)
    samples, reductions = parts.pop("samples"), parts.pop("reductions")
    with ZipFile(path, "w", method) as archive:
        start = {"version": parts["version"], "eval": parts["eval"], "plan": parts["plan"]}
        archive.writestr("_journal/start.json", json.dumps(start))
        for each in reversed(samples):
            archive.writestr(f"samples/{each['id']}_epoch_{each['epoch']}.json", json.dumps(each))
        archive.writestr("summaries.json", "[]")
        if parts["status"] != "started":
            archive.writestr("reductions.json", json.dumps(reductions))
            archive.writestr("header.json", json.dumps(parts))
    return path
