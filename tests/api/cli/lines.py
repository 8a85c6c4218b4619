"""Events as a client writes them, a line each."""

import msgspec


def line(type_: str, *, id: str | None = None, source: str | None = None, **data: object) -> bytes:  # noqa: A002
    attributes = {"type": type_, "id": id, "source": source, "data": data}
    return msgspec.json.encode({name: value for name, value in attributes.items() if value is not None}) + b"\n"


def decided(name: str, *, id: str | None = None, source: str | None = None, **data: object) -> bytes:  # noqa: A002
    return line("decision.recorded.v1", id=id, source=source, decision_id=name, decision=f"do {name}", **data)


def turned_out(name: str, outcome: str, *, id: str | None = None) -> bytes:  # noqa: A002
    return line("decision.reviewed.v1", id=id, decision_id=name, outcome=outcome)


def history(count: int = 10) -> bytes:
    """So many decisions, each reviewed, with ids."""
    return b"".join(
        decided(f"d{n}", id=f"a{n}", confidence=0.6 + n % 4 / 10, category=f"c{n % 2}", stakes="low")
        + turned_out(f"d{n}", "success" if n % 3 else "failure", id=f"b{n}")
        for n in range(count)
    )
