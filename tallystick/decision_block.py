"""The blocks of `with client.decision(...)`, which record a decision at their start and review it at their end."""

from types import TracebackType
from typing import Protocol, Self, TypeVar, Unpack, cast

from tallystick.errors import TallystickError
from tallystick.fields import AmendFields, DecisionFields, EventFields, Outcome, ReviewFields, ThoughtFields
from tallystick.operations import Operations
from tallystick.request_flow import Flow
from tallystick.results import DecisionEvent, ThoughtEvent

_Result = TypeVar("_Result")


class Run(Protocol):
    """The function of a client that performs the steps of an operation."""

    def __call__(self, flow: Flow[_Result], /) -> _Result:
        """Return the operation's result."""


class AsyncRun(Protocol):
    """The function of an asynchronous client that performs the steps of an operation."""

    async def __call__(self, flow: Flow[_Result], /) -> _Result:
        """Return the operation's result."""


class _Block:
    """The base of both kinds of block: the decision, and the outcome that will be recorded."""

    def __init__(self, decision: str, fields: DecisionFields) -> None:
        self._decision = decision
        self._fields = fields
        self._event: DecisionEvent | None = None
        self._chosen_outcome: tuple[Outcome, ReviewFields] | None = None

    @property
    def event(self) -> DecisionEvent:
        """The position of the decision in the log; `duplicate` is true if an earlier run of the program recorded it."""
        assert self._event is not None, "the decision is recorded when its block is entered"
        return self._event

    @property
    def decision_id(self) -> str:
        """The id of the decision."""
        return self.event.decision_id

    def review(self, outcome: Outcome, **fields: Unpack[ReviewFields]) -> None:
        """State the outcome, which is recorded when the block ends. A later statement replaces it."""
        self._chosen_outcome = outcome, fields

    def partial(self, actual_result: str | None = None, /, **fields: Unpack[ReviewFields]) -> None:
        """State that it succeeded in part."""
        self._chosen_outcome = "partial", _with_result(actual_result, fields)

    def abandon(self, actual_result: str | None = None, /, **fields: Unpack[ReviewFields]) -> None:
        """State that it was given up."""
        self._chosen_outcome = "abandoned", _with_result(actual_result, fields)

    def _outcome(self, error: BaseException | None) -> tuple[Outcome, ReviewFields] | None:
        """Return the outcome to record; None if the block was interrupted before it stated one."""
        if self._chosen_outcome is not None:
            return self._chosen_outcome
        if error is None:
            return "success", {}
        if isinstance(error, Exception):
            return "failure", {"actual_result": f"{type(error).__name__} was raised"}
        return None


class DecisionBlock(_Block):
    """A decision that is recorded before a `with` block and reviewed after it.

    The outcome is `success`, or `failure` if the block raises an exception; `review`, `partial` and `abandon` state
    another one. If the block is interrupted (Ctrl-C, exit of the interpreter), the decision is not reviewed. The type
    of the exception is recorded, its message is not: it may contain secrets.
    """

    def __init__(self, run: Run, operations: Operations, decision: str, fields: DecisionFields) -> None:
        super().__init__(decision, fields)
        self._run = run
        self._operations = operations

    def __enter__(self) -> Self:
        self._chosen_outcome = None
        self._event = self._run(self._operations.record(self._decision, self._fields))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outcome = self._outcome(error)
        if outcome is None:
            return
        try:
            self._run(self._operations.conclude(self.decision_id, *outcome))
        except TallystickError as unrecorded:
            if error is None:
                raise
            error.add_note(_note(self.decision_id, unrecorded))

    def think(self, text: str, **fields: Unpack[EventFields]) -> ThoughtEvent:
        """Record a thought on the decision."""
        return self._run(self._operations.think(text, _thought(self.decision_id, fields)))

    def amend(self, **fields: Unpack[AmendFields]) -> DecisionEvent:
        """Amend the decision."""
        return self._run(self._operations.amend(self.decision_id, fields))


class AsyncDecisionBlock(_Block):
    """`DecisionBlock` for `async with`. If the block is cancelled, the decision is not reviewed."""

    def __init__(self, run: AsyncRun, operations: Operations, decision: str, fields: DecisionFields) -> None:
        super().__init__(decision, fields)
        self._run = run
        self._operations = operations

    async def __aenter__(self) -> Self:
        self._chosen_outcome = None
        self._event = await self._run(self._operations.record(self._decision, self._fields))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outcome = self._outcome(error)
        if outcome is None:
            return
        try:
            await self._run(self._operations.conclude(self.decision_id, *outcome))
        except TallystickError as unrecorded:
            if error is None:
                raise
            error.add_note(_note(self.decision_id, unrecorded))

    async def think(self, text: str, **fields: Unpack[EventFields]) -> ThoughtEvent:
        """Record a thought on the decision."""
        return await self._run(self._operations.think(text, _thought(self.decision_id, fields)))

    async def amend(self, **fields: Unpack[AmendFields]) -> DecisionEvent:
        """Amend the decision."""
        return await self._run(self._operations.amend(self.decision_id, fields))


def _with_result(actual_result: str | None, fields: ReviewFields) -> ReviewFields:
    return fields if actual_result is None else {**fields, "actual_result": actual_result}


def _note(decision_id: str, error: TallystickError) -> str:
    return f"tallystick could not record that decision {decision_id} failed: {error}"


def _thought(decision_id: str, fields: EventFields) -> ThoughtFields:
    return cast("ThoughtFields", {**fields, "decision_id": decision_id})
