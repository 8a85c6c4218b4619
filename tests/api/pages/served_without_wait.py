"""The command as it is, but that no request waits for a page: each page is first shown as unfinished.

Queries of views begin late, when the first request for a page has been answered and its client has left.
"""

import asyncio
from typing import Any

from tallystick.__main__ import main

LATE_S = 0.1

if __name__ == "__main__":
    from tallystick._app_path import use_app

    use_app()
    from api.http.pages import page_answer
    from api.service.view_queries import QueryTurns

    take_turn = QueryTurns._take_turn

    async def take_turn_late(turns: QueryTurns, *given: Any) -> object:  # noqa: ANN401 - passed on
        await asyncio.sleep(LATE_S)
        return await take_turn(turns, *given)

    QueryTurns._take_turn = take_turn_late  # type: ignore[method-assign, assignment]
    page_answer.WAIT_S = page_answer.PARTS_WAIT_S = 0.0  # type: ignore[misc]
    main()
