"""The reference of HTTP, from the OpenAPI document: every route with its parameters and its answers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from docs._generate import schema
from docs._generate.markdown import code, joined, prose, table
from docs._generate.program import openapi

Json = Mapping[str, Any]


def overview() -> str:
    """Return a table of the routes with the first sentence about each."""
    rows = ([f"[{code(name)}](#{_anchor(name)})", prose(each["summary"])] for name, each in _operations())
    return table(["route", "what it does"], rows)


def reference() -> str:
    """Return every route: what it does, its parameters, its body, its answers and its refusals."""
    common = _common()
    shared = ", ".join(map(code, sorted(common)))
    shared_note = (
        f"Every route can refuse with {shared}. Below, each route lists only what it can refuse with besides. "
        "[Errors](errors.md) says what each means."
    )
    return joined([shared_note, *(_operation(name, each, common) for name, each in _operations())])


def shapes() -> str:
    """Return every struct that a body or an answer is made of, but for events."""
    return joined(_shape(name, each) for name, each in sorted(_shapes().items()))


@cache
def _shapes() -> dict[str, Json]:
    """Return every struct but those of events, by name."""
    named: Json = openapi()["components"]["schemas"]
    return {name: each for name, each in named.items() if not _of_an_event(name, named)}


def _of_an_event(name: str, named: Json) -> bool:
    return name in ("Draft", "Event", "Payload") or name.endswith(("Draft", "Event")) or f"{name}Draft" in named


def _words(schema_: Json) -> str:
    return schema.words(schema_, _shapes())


def _shape(name: str, each: Json) -> str:
    needed = each.get("required", ())
    rows = [
        [code(field), _words(kind), "yes" if field in needed else "", prose(kind.get("description", ""))]
        for field, kind in each.get("properties", {}).items()
    ]
    heads = ["field", "type", "always there", "what it means"]
    columns = 4 if any(row[3] for row in rows) else 3
    fields = table(heads[:columns], [row[:columns] for row in rows])
    return joined([f"### {code(name)}", prose(each.get("description", "")), fields])


def _operations() -> Iterator[tuple[str, Json]]:
    for path, item in openapi()["paths"].items():
        for method, operation in item.items():
            if method in ("get", "post", "put", "delete"):
                yield f"{method.upper()} {path}", operation


def _anchor(name: str) -> str:
    kept = "".join(each for each in name.lower() if each.isalnum() or each in " -_")
    return kept.replace(" ", "-")


def _common() -> frozenset[str]:
    """Return the refusals that every route shares."""
    listed = [each["responses"] for _, each in _operations()]
    counted = Counter(status for responses in listed for status in responses if status >= "400")
    return frozenset(status for status, count in counted.items() if count == len(listed))


def _operation(name: str, each: Json, common: frozenset[str]) -> str:
    refused = [status for status in each["responses"] if status >= "400" and status not in common]
    return joined(
        [
            f"### {code(name)}",
            prose(each["summary"]),
            prose(each.get("description", "")),
            table(["parameter", "in", "type", "what it means"], map(_parameter, each.get("parameters", ()))),
            _body(each.get("requestBody", {})),
            table(["answer", "when", "body"], _answers(each["responses"])),
            f"Refusals: {', '.join(map(code, refused))}." if refused else "",
        ]
    )


def _parameter(each: Json) -> list[str]:
    meaning = [prose(each.get("description", ""))]
    if each.get("required"):
        meaning.append("Required.")
    if default := schema.default(each.get("schema", {})):
        meaning.append(f"Default: {code(default)}.")
    return [code(each["name"]), each["in"], _words(each.get("schema", {})), " ".join(meaning)]


def _body(body: Json) -> str:
    kinds = "; ".join(f"{code(media)}: {_content(each)}" for media, each in body.get("content", {}).items())
    return f"Body: {kinds}." if kinds else ""


def _answers(responses: Json) -> Iterator[list[str]]:
    for status, each in responses.items():
        if status < "400":
            kinds = "; ".join(f"{code(media)}: {_content(kind)}" for media, kind in each.get("content", {}).items())
            yield [status, prose(each.get("description", "")), kinds]


def _content(content: Json) -> str:
    found = content.get("schema", {})
    either = found.get("oneOf") or found.get("anyOf") or ()
    return "any event of the vocabulary" if len(either) > 8 else _words(found)
