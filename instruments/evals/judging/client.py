"""Ask a judge's endpoint or command for one reply that follows a schema."""

import re
from collections.abc import Mapping

from instruments.answer import RouterAnswer
from instruments.routers import Router
from instruments.routers.endpoint_limits import EndpointLimits
from instruments.routers.openai import OpenAIRouter

_REFUSING_STATUSES = frozenset({400, 404, 405, 415, 422, 501})
_names_schema = re.compile(r"response_format|json_schema|structured output|schema", re.IGNORECASE)


class JudgeClient:
    """Sends prompts through a router. An OpenAI-compatible endpoint also gets the schema of the reply.

    If the endpoint refuses the schema, the prompt is sent again without it, and so are all later ones; the reply is
    checked in the same way.
    """

    def __init__(self, router: Router, temperature: float | None = None) -> None:
        self._router = router
        self._temperature = temperature
        self._sends_schema = True

    def use_limits(self, limits: EndpointLimits) -> None:
        """Let the requests to an endpoint share limits with others. A command has none."""
        if isinstance(self._router, OpenAIRouter):
            self._router.limits = limits

    async def ask(self, prompt: str, name: str, schema: Mapping[str, object], timeout_s: float) -> RouterAnswer:
        """Return one reply or the failure; never raises. Cancelling ends the program or the request."""
        router = self._router
        if not isinstance(router, OpenAIRouter):
            return await router.ask(prompt, timeout_s)
        settings = {} if self._temperature is None else {"temperature": self._temperature}
        if self._sends_schema:
            form = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
            answer = await router.ask_with(prompt, timeout_s, {**settings, "response_format": form})
            if not _refuses_schema(answer):
                return answer
            self._sends_schema = False
        return await router.ask_with(prompt, timeout_s, settings)


def _refuses_schema(answer: RouterAnswer) -> bool:
    return answer.status in _REFUSING_STATUSES and _names_schema.search(answer.detail or "") is not None
