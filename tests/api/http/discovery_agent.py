"""An agent that drives runs of discovery over HTTP, and what a router might answer it."""

from collections.abc import Sequence

import httpx
import msgspec

from tests.api.http.posts import Json

PROBE = "debugging"
"""The probe that is asked, where it makes no difference: any text answers it."""

WORK = "The connection pool: L07 made it smaller, and L09 shows who waits for it."
"""What is answered to the task."""

REFUSED = {"response": "EXCLUDED"}
EMPTY = {"response": " \n"}
GARBAGE = {"response": "I would rather talk about the weather. " * 10}
TIMEOUT = {"failure": "timeout", "detail": "nothing within 5 s"}
FAILED = {"failure": "failed", "detail": "connection refused"}
WRAPPER = {"response": f'{{"model_name": "Cursor Agent"}}\n\n{WORK}'}


def model(name: str, work: str = WORK, version: str | None = None, **fields: object) -> Json:
    """A model that does what it was asked."""
    identity = {"model_name": name, "provider": "Acme"} | ({} if version is None else {"version": version})
    claim = msgspec.json.encode(identity).decode()
    return {"response": f"{claim}\n\n{work}\n", **fields}


class Asker:
    """One agent: its requests, each answer checked for its kind."""

    def __init__(self, client: httpx.Client, secret: str | None = None) -> None:
        self.client = client
        self.headers = {} if secret is None else {"authorization": f"Bearer {secret}"}

    def ask(self, method: str, path: str, body: object = None, **parameters: str | int) -> httpx.Response:
        content = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {"content-type": "application/json", **self.headers} if content else self.headers
        return self.client.request(method, path, content=content, headers=headers, params=parameters)

    def get(self, path: str, **parameters: str | int) -> Json:
        return checked(self.ask("GET", path, **parameters), 200)

    def begin(self, **config: object) -> Json:
        return checked(self.ask("POST", "/discovery", {"probe_id": PROBE, **config}), 201)

    def prompt(self, run: str) -> Json:
        return self.get(f"/discovery/{run}/prompt")

    def reply(self, run: str, body: object) -> httpx.Response:
        return self.ask("POST", f"/discovery/{run}/responses", body)

    def respond(self, run: str, body: object) -> Json:
        return checked(self.reply(run, body), 200)

    def drive(self, answers: Sequence[object], **config: object) -> list[Json]:
        """Answer a run to its end; return the result of each answer."""
        run = self.begin(**config)["run_id"]
        return [self.respond(run, answer) for answer in answers]

    def stream(self, run: str) -> list[Json]:
        """The events of a run."""
        events: list[Json] = self.get(f"/streams/discovery/{run}", limit=1000)["events"]
        return events


def checked(response: httpx.Response, status: int) -> Json:
    """The JSON of an answer of a status."""
    assert response.status_code == status, response.text
    answer: Json = response.json()
    return answer


def problem(response: httpx.Response, status: int, kind: str) -> Json:
    """The problem document of a refusal."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    found = checked(response, status)
    assert found["type"] == f"urn:tallystick:problem:{kind}"
    return found
