"""Requests about evidence, and about runs of discovery that an agent drives."""

from tests.recorded.history import digest_of
from tests.recorded.request import Request, get, post

WORK = "The connection pool: L07 made it smaller, and L09 shows who waits for it."
NOTES = "notes of a meeting: 70%"
LOST = "a name that has to go"
NOWHERE = "0" * 64


def put(body: str, media: str = "text/plain", **parameters: str) -> Request:
    """Store a text as evidence."""
    return get("/evidence", **parameters)._replace(
        method="PUT", body=body.encode(), headers=(("content-type", media),) if media else ()
    )


def delete(path: str, **parameters: str) -> Request:
    return get(path, **parameters)._replace(method="DELETE")


def evidence() -> list[Request]:
    """Store, read, list and erase evidence."""
    kept, lost = f"/evidence/{digest_of(NOTES)}", f"/evidence/{digest_of(LOST)}"
    matched = (("if-none-match", f'"{digest_of(NOTES)}"'),)
    return [
        put(NOTES, "text/plain; charset=utf-8", note="minutes"), put(NOTES), put(LOST, ""), put("", "text/plain"),
        put("{}", "application/json", digest=digest_of("{}")), put("other", digest=digest_of("{}")),
        put("x", digest="nonsense"), put("x", "not a type"), put("x", note="n" * 1_001), put("x", colour="red"),
        put("<b>bold</b>", "text/html"),
        get(kept), get(kept)._replace(headers=matched), get(lost), get(f"/evidence/{NOWHERE}"), get("/evidence/short"),
        Request("HEAD", kept), get("/evidence"), get("/evidence", limit=2), get("/evidence", limit=2, offset=2),
        delete(lost, reason="It named a person"), delete(lost, reason="again"), get(lost), put(LOST),
        delete(f"/evidence/{NOWHERE}"), delete("/evidence/short"), delete(kept, why="x"),
        get("/evidence", offset=99), get("/evidence", as_of=1), get("/evidence", limit="many"), get("/evidence"),
        get(f"/streams/evidence/{digest_of(LOST)}"),
    ]  # fmt: skip


def answer(name: str, work: str = WORK, **fields: object) -> dict[str, object]:
    """Return the response of a model that names itself and solves the task."""
    return {"response": f'{{"model_name": "{name}", "provider": "Acme"}}\n\n{work}\n', **fields}


def discovery() -> list[Request]:
    """Drive runs to each kind of end, and send requests that the server refuses."""
    go = "```go\nfunc f() int { return 1 }\n```"

    def begin(run: str, **config: object) -> Request:
        return post("/discovery", {"probe_id": "debugging", "run_id": run, **config})

    def reply(run: str, body: object) -> Request:
        return post(f"/discovery/{run}/responses", body)

    return [
        begin("live", max_iterations=5, router="subagents", requested_model="auto"),
        begin("live", max_iterations=5, router="subagents", requested_model="auto"), begin("live"),
        get("/discovery/live/prompt"),
        reply("live", answer("Nova-1", elapsed_ms=12.5, reported_model="nova-1-2026", tokens_used=7)),
        reply("live", {**answer("Nova-1", elapsed_ms=12.5, reported_model="nova-1-2026", tokens_used=7), "attempt": 1}),
        reply("live", {**answer("Other"), "attempt": 1}), reply("live", {**answer("Other"), "attempt": 9}),
        reply("live", {"failure": "timeout", "detail": "nothing within 5 s"}), get("/discovery/live/prompt"),
        post("/discovery/live/signals", {"event": "BLUE", "agent": "watcher", "meta": {"café": "1"}, "ts": "noon"}),
        post("/discovery/live/signals", {}), post("/discovery/live/signals", {"event": "BLUE", "colour": "red"}),
        get("/discovery/live/signals"), get("/discovery/live/signals", since=9_999),
        get("/discovery/live/signals", since="2026-11-22"), get("/discovery/live/signals", since="then"),
        reply("live", answer("Example/XL:latest")), reply("live", answer("nova_1")), get("/discovery/live/prompt"),
        reply("live", answer("Late")), post("/discovery/live/signals", {"event": "LATE"}),
        post("/discovery/live/finish", {"reason": "enough"}),
        begin("wrapped"), reply("wrapped", answer("Cursor Agent")), get("/discovery/wrapped/signals"),
        begin("refused"), reply("refused", {"response": "EXCLUDED"}), begin("empty"), reply("empty", {"response": " "}),
        begin("rambling", keep_going=True, max_attempts=2), reply("rambling", {"response": "The weather. " * 10}),
        reply("rambling", {"failure": "failed", "detail": "connection refused"}),
        begin("secret", sensitive=True), reply("secret", answer("Nova-2", elapsed_ns=5)),
        post("/discovery/secret/finish", {"reason": "enough"}), post("/discovery/secret/finish", {"reason": "enough"}),
        post("/discovery/secret/finish", {}), begin("coded", probe_id="refactor-go"),
        reply("coded", answer("Coder-1", go)), reply("coded", answer("Coder-2", "no code")),
        begin("bad", probe_id="unknown"), begin("bad", max_attempts=0), begin("no/id"), begin("bad", colour="red"),
        begin("bad", router="http://me:secret@host"), post("/discovery", b"{"), post("/discovery", {}, "text/plain"),
        reply("live", {}), reply("none", answer("Nova-1")), reply("coded", {"response": "x", "failure": "timeout"}),
        begin("idle"), reply("idle", {"response": "x", "elapsed_ms": 1, "elapsed_ns": 1}),
        reply("idle", {"failure": "boredom"}), get("/discovery/none/prompt"), get("/discovery/none/signals"),
        get("/discovery/idle/prompt", as_of=1), post("/discovery/none/finish", {}),
        post("/discovery/idle/finish", {"why": 1}), get("/streams/discovery/live"), get("/streams/discovery/wrapped"),
    ]  # fmt: skip
