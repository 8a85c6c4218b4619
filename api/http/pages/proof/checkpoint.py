"""The proof: the newest checkpoint, whether it continues an older one, and the form that checks a receipt."""

from shlex import quote

from api.http.pages.content import Content, address_of
from api.http.pages.page import page
from api.http.request import Call
from api.parameters import integer_parameter, text_parameter
from api.service.checkpoint_summary import CheckpointComparison, compare_checkpoint, summarize_checkpoint
from events.errors import TallystickError
from ledger.transparency.signed_note import encode_base64

OLDER = text_parameter("older", "An older checkpoint of this log, to compare with the newest one.")
RECEIPT_OF = integer_parameter("position", "The event whose receipt is checked.", 1)


@page("proof/checkpoint", query=(OLDER, RECEIPT_OF))
async def show_proof(call: Call) -> Content:
    """Show the newest checkpoint. The browser checks the receipt of `position`, or a pasted one."""
    summary = refusal = None
    try:
        summary = await summarize_checkpoint(call.ledger)
    except TallystickError as error:
        refusal = error
    older = OLDER.find(call.parameters)
    comparison = problem = None
    if older is not None:
        try:
            comparison = await compare_checkpoint(call.ledger, older)
        except TallystickError as error:
            problem = error
    variables = {
        "checkpoint": summary,
        "refusal": refusal,
        "older": older,
        "comparison": comparison,
        "problem": problem,
        "age": None if summary is None else _age(summary.age_s),
        "quoted_key": "VKEY" if summary is None or summary.key is None else quote(summary.key),
        "json_proof": None if comparison is None else _proof_address(comparison),
        "receipt_of": RECEIPT_OF.find(call.parameters),
        "address": str(call.request.base_url).rstrip("/"),
        "base64": encode_base64,
        "head": await call.ledger.head_position(),
    }
    return Content("Proof", variables, json="/status")


def _age(age_s: int) -> str:
    """Format an age in its largest whole unit."""
    for unit, unit_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if age_s >= 2 * unit_s:
            return f"{age_s // unit_s:,} {unit}"
    return f"{age_s} s"


def _proof_address(comparison: CheckpointComparison) -> str | None:
    """Return the address of the same consistency proof as JSON."""
    proof = comparison.proof
    if proof is None:
        return None
    return address_of("/proofs/consistency", {}, **{"from": proof.older, "to": proof.newer})
