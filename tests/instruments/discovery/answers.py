"""Answers as models give them."""

from instruments.answer import RouterAnswer

CODE = "func sum(numbers []int) int {\n\treturn len(numbers)\n}\n"


def identity(name: str, provider: str = "Acme") -> str:
    return f'{{"model_name": "{name}", "provider": "{provider}", "version": "1"}}'


def says(text: str | None, elapsed_ns: int = 1_000_000) -> RouterAnswer:
    return RouterAnswer(text=text, elapsed_ns=elapsed_ns)


def model(name: str, code: str = CODE) -> RouterAnswer:
    """A model that does what it was asked."""
    return says(f"{identity(name)}\n\n```go\n{code}```\n")


REFUSED = says("EXCLUDED")
EMPTY = says(" \n")
GARBAGE = says("As a large model I will not say, but here is a poem. " * 10)
TIMEOUT = RouterAnswer(failure="timeout", elapsed_ns=5_000_000_000, detail="no answer within 5 s")
FAILED = RouterAnswer(failure="failed", elapsed_ns=1_000, detail="connection refused")
