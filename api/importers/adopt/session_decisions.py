"""The decisions of a session: what others can call right or wrong later, and the test that shows which.

That is each pull request; without one each commit; without either the last answer of a headless run, for which there is
no test. An edit, a plan or a turn is no decision. Nothing states a confidence, and no text of the session is kept.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from api.importers.adopt.session_events import label_of, name_stream
from events.decision import DecisionRecorded, DecisionTestStated
from events.envelope import Draft, source_of
from events.registry import VOCABULARY
from instruments.sessions.session import AgentSession, MadeDecision
from projections.resolve.statement import complete_test
from projections.sessions.program_sessions import moment_of

TEST: Final = "git.kept:14d"
"""How the outcome of a commit or a request is known."""

TAG: Final = "adopted"


class FoundDecision(NamedTuple):
    """A decision of a session, and its test if there is one."""

    decision: DecisionRecorded
    test: DecisionTestStated | None
    time: datetime | None

    def drafts(self, program: str) -> Iterator[Draft]:
        """Yield its events, in the name of the program that decided."""
        name, source = self.decision.decision_id, source_of(program)
        yield VOCABULARY.draft_of(self.decision, id=f"decision/{name}/recorded", source=source, time=self.time)
        if self.test is not None:
            yield VOCABULARY.draft_of(self.test, id=f"decision/{name}/tested", source=source, time=self.time)


def session_decisions(session: AgentSession, *, is_over: bool) -> Iterator[FoundDecision]:
    """Yield the decisions of a session. That of a headless run is known when it is over."""
    requests = [made for made in session.made if made.request is not None]
    for made in requests or session.made:
        if made.request is None:
            yield _found(session, made, f"commit-{made.commit}", f"Commit {made.commit}", "commit")
        else:
            what = f"Open pull request {made.request}"
            yield _found(session, made, f"{session.id}-pr-{made.request}", what, "pull_request")
    if session.is_headless and is_over and session.answers and not session.made:
        answer = list(session.answers.values())[-1]
        made = MadeDecision(None, None, answer.time, answer.model, answer.requested)
        yield _found(session, made, f"answer-{answer.id}", "Final answer of a headless run", "answer")


def _found(session: AgentSession, made: MadeDecision, name: str, what: str, category: str) -> FoundDecision:
    decision_id = name_stream(session.program, name)
    decision = DecisionRecorded(
        decision_id=decision_id,
        decision=what,
        category=category,
        tags=(TAG,),
        pr=made.request,
        cluster=name_stream(session.program, session.id),
        model=label_of(made.requested),
        reported_model=label_of(made.model),
    )
    test = None
    if made.commit is not None:
        stated = DecisionTestStated(decision_id=decision_id, rule=f"{TEST}:subject=commit:{made.commit}")
        test = complete_test(stated)
    return FoundDecision(decision, test, moment_of(made.time))
