"""The operator's embeddings endpoint: from the options of a command, with its key from the environment."""

import os
from typing import TYPE_CHECKING

from events.limits import LABEL_CHARS_MAX
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from instruments.evals.scoring.embeddings_client import EmbeddingsClient


def embeddings_endpoint(address: str | None, model: str | None) -> "EmbeddingsClient | None":
    """Return a client of the endpoint; None without one. Errors: InvalidQuery."""
    if address is None:
        if model is not None:
            raise InvalidQuery("embeddings-model", "a model needs its endpoint.", "Add --embeddings-url ADDRESS.")
        return None
    if not model or len(model) > LABEL_CHARS_MAX:
        detail = f"the endpoint needs the name of its model, in 1 to {LABEL_CHARS_MAX} characters."
        raise InvalidQuery("embeddings-model", detail, "Add --embeddings-model NAME.")
    # Only who names an endpoint needs a client, which loads httpx.
    from instruments.evals.scoring.embeddings_client import EmbeddingsClient, EmbeddingsUnavailable  # noqa: PLC0415
    from instruments.evals.scoring.semantic_matcher import KEY_ENV  # noqa: PLC0415

    try:
        return EmbeddingsClient(address, model=model, key=os.environ.get(KEY_ENV, "").strip() or None)
    except EmbeddingsUnavailable as error:
        raise InvalidQuery("embeddings-url", f"{error}.", "Name it as in http://127.0.0.1:8080/v1.") from None
