"""A judge with known error rates: as an OpenAI-compatible endpoint on a real socket, as a process, or as a command.

An answer truly meets a criterion if it contains `CRITERION is right`. A verdict on a criterion that is met is right
with the probability `sensitivity`, on one that is not met with `specificity`. Chance follows from the seed, the answer,
the criterion and how often the same answer was shown, so that the order of requests does not matter.

`python -m tests.instruments.evals.simulated_judge --seed 7 --sensitivity 0.9 --specificity 0.8` serves until it is
killed, and first prints its address. With `--command` it reads one prompt and prints one verdict.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.instruments.routers.simulated import Asked, Reply, Script, completed, error
from tests.support.paths import ROOT

MODEL = "simulated-1"

_fence = re.compile(r"^<tallystick-answer ([0-9a-f]+)>\n(.*)\n</tallystick-answer \1>$", re.MULTILINE)
_criterion = re.compile(r'^\{"criterion": .*\}$', re.MULTILINE)


class Prompt(NamedTuple):
    """What a judge finds in a prompt: the criteria, and each answer as it is shown."""

    criteria: tuple[dict[str, str], ...]
    answers: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(criterion["criterion"] for criterion in self.criteria)


def parse_prompt(text: str) -> Prompt:
    """Read a prompt as the project writes it: the frame by its lines, each answer as the JSON string in its fence."""
    head = text[: text.index("\n<tallystick-answer ")]
    criteria = tuple(json.loads(line) for line in _criterion.findall(head))
    return Prompt(criteria, tuple(json.loads(answer) for _, answer in _fence.findall(text)))


class SimulatedJudge:
    """Gives verdicts and preferences with known error rates."""

    def __init__(
        self,
        *,
        seed: int = 1,
        sensitivity: float = 1.0,
        specificity: float = 1.0,
        confidence: float = 0.9,
        prefers_first: float = 0.0,
    ) -> None:
        self._seed = seed
        self._rates = {True: sensitivity, False: specificity}
        self._confidence = confidence
        self._prefers_first = prefers_first
        self._asked: Counter[str] = Counter()

    def reply(self, prompt: str) -> dict[str, Any]:
        """The reply to a prompt: verdicts on one answer, or a preference between two."""
        read = parse_prompt(prompt)
        key = json.dumps(read.answers)
        self._asked[key] += 1
        chance = f"{self._seed}|{key}|{self._asked[key]}"
        if len(read.answers) == 2:
            return self._preference(read, random.Random(chance))
        (answer,) = read.answers
        return {"verdicts": [self._verdict(name, answer, random.Random(f"{chance}|{name}")) for name in read.names]}

    def _verdict(self, name: str, answer: str, chance: random.Random) -> dict[str, Any]:
        truth = is_met(name, answer)
        passed = truth if chance.random() < self._rates[truth] else not truth
        return verdict(name, passed, answer, confidence=self._confidence)

    def _preference(self, read: Prompt, chance: random.Random) -> dict[str, Any]:
        met = [sum(is_met(name, answer) for name in read.names) for answer in read.answers]
        better = "tie" if met[0] == met[1] else "AB"[met[1] > met[0]]
        if chance.random() < self._prefers_first:
            better = "A"
        return {"better": better, "confidence": self._confidence, "reason": "It meets more of the criteria."}


def is_met(criterion: str, answer: str) -> bool:
    """Whether an answer truly meets a criterion."""
    return f"{criterion} is right" in answer


def verdict(name: str, passed: bool, answer: str, *, confidence: float = 0.9) -> dict[str, Any]:
    """A valid verdict, which quotes the first words of the answer."""
    return {
        "criterion": name,
        "passed": passed,
        "confidence": confidence,
        "reason": f"{name} is {'' if passed else 'not '}met.",
        "quote": " ".join(answer.split()[:4]) if passed else None,
    }


def valid_reply(asked: Asked) -> Reply:
    """A right verdict on each criterion."""
    return completed(json.dumps(SimulatedJudge().reply(asked.prompt)), MODEL)


def judging(judge: SimulatedJudge) -> Script:
    """Let a simulated judge answer."""
    return lambda asked: completed(json.dumps(judge.reply(asked.prompt)), MODEL)


def _changed(change: Callable[[list[dict[str, Any]]], object]) -> Script:
    """Replies whose verdicts a function changed."""

    def script(asked: Asked) -> Reply:
        verdicts = SimulatedJudge().reply(asked.prompt)["verdicts"]
        change(verdicts)
        return completed(json.dumps({"verdicts": verdicts}), MODEL)

    return script


def _raw(text: Callable[[str], str]) -> Script:
    """Replies whose JSON a function changed."""
    return lambda asked: completed(text(json.dumps(SimulatedJudge().reply(asked.prompt))), MODEL)


def _cut_at_tokens(asked: Asked) -> Reply:
    body = json.loads(valid_reply(asked).body)
    body["choices"][0]["finish_reason"] = "length"
    return Reply(json.dumps(body).encode())


FAULTS: Mapping[str, Script] = {
    "prose": lambda asked: completed("The answer is fine, I would pass it.", MODEL),
    "empty": lambda asked: completed("", MODEL),
    "null": lambda asked: completed("null", MODEL),
    "array": _raw(lambda text: f"[{text}]"),
    "text before": _raw(lambda text: f"Here is my verdict: {text}"),
    "two objects": _raw(lambda text: f"{text}\n{text}"),
    "truncated": _raw(lambda text: text[: len(text) // 2]),
    "cut at the limit of tokens": _cut_at_tokens,
    "cut off": lambda asked: valid_reply(asked)._replace(how="cut"),
    "late": lambda asked: Reply(how="stall"),
    "dripping": lambda asked: Reply(how="drip"),
    "missing criterion": _changed(lambda verdicts: verdicts.pop()),
    "no criterion": _changed(lambda verdicts: verdicts.clear()),
    "unknown criterion": _changed(lambda verdicts: verdicts.append({**verdicts[0], "criterion": "style"})),
    "same verdict twice": _changed(lambda verdicts: verdicts.append(verdicts[0])),
    "contradicting verdicts": _changed(
        lambda verdicts: verdicts.append({**verdicts[0], "passed": not verdicts[0]["passed"], "quote": None})
    ),
    "key stated twice": _raw(lambda text: text.replace('"passed":', '"passed": true, "passed":', 1)),
    "confidence below a half": _changed(lambda verdicts: verdicts[0].update(confidence=0.2)),
    "confidence above 1": _changed(lambda verdicts: verdicts[0].update(confidence=1.2)),
    "confidence in percent": _changed(lambda verdicts: verdicts[0].update(confidence="90%")),
    "no confidence": _changed(lambda verdicts: verdicts[0].pop("confidence")),
    "verdict as text": _changed(lambda verdicts: verdicts[0].update(passed="yes")),
    "verdict as number": _changed(lambda verdicts: verdicts[0].update(passed=1)),
    "empty reason": _changed(lambda verdicts: verdicts[0].update(reason="  ")),
    "no reason": _changed(lambda verdicts: verdicts[0].pop("reason")),
    "long reason": _changed(lambda verdicts: verdicts[0].update(reason="x" * 1_001)),
    "invented quote": _changed(lambda verdicts: verdicts[0].update(quote="the moon is made of cheese")),
    "passed without a quote": _changed(lambda verdicts: verdicts[0].update(passed=True, quote=None)),
    "passed with an empty quote": _changed(lambda verdicts: verdicts[0].update(passed=True, quote=" ")),
    "additional field": _changed(lambda verdicts: verdicts[0].update(score=100)),
    "score instead": lambda asked: completed(json.dumps({"score": 100}), MODEL),
    "deep nesting": lambda asked: completed("[" * 100_000, MODEL),
    "no message": lambda asked: Reply(b'{"choices": []}'),
    "no JSON": lambda asked: Reply(b"<html>busy</html>"),
    "refused": lambda asked: error(400, "I do not judge."),
    "no such key": lambda asked: error(401, "Incorrect API key provided."),
    "busy": lambda asked: error(429, "Rate limit reached."),
    "broken": lambda asked: error(500, "The server had an error."),
}
"""Replies without a valid verdict: each is an error of the attempt."""


def main() -> None:
    """Serve until killed, or answer one prompt on standard input."""
    options = argparse.ArgumentParser()
    options.add_argument("--command", action="store_true")
    options.add_argument("--log", type=Path)
    options.add_argument("--delay-s", type=float, default=0.0)
    options.add_argument("--fault", choices=sorted(FAULTS))
    options.add_argument("--seed", type=int, default=1)
    for name in ("sensitivity", "specificity"):
        options.add_argument(f"--{name}", type=float, default=1.0)
    options.add_argument("--confidence", type=float, default=0.9)
    options.add_argument("--prefers-first", type=float, default=0.0)
    chosen = vars(options.parse_args())
    command, log, delay_s, fault = (chosen.pop(name) for name in ("command", "log", "delay_s", "fault"))
    judge = SimulatedJudge(**chosen)
    if command:
        print(json.dumps(judge.reply(sys.stdin.read())))
        return
    script = judging(judge) if fault is None else FAULTS[fault]

    class Handler(BaseHTTPRequestHandler):
        """Answers POST /v1/chat/completions; each request is a line in the log."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if log is not None:
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(request) + "\n")
            time.sleep(delay_s)
            reply = script(Asked(1, request["messages"][0]["content"], request.get("model"), self.path, {}))
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server names it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


@contextmanager
def judge_process(*options: str) -> Iterator[str]:
    """Run a simulated judge as a process; yield its address."""
    command = [sys.executable, "-m", "tests.instruments.evals.simulated_judge", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    main()
