"""The tools of proof: the signed checkpoint, the receipt of an event, and its check."""

from typing import Annotated

import msgspec

from api.mcp.arguments import ReadArguments
from api.mcp.refusal import Refusal
from api.mcp.tool import Answer, Tool, ToolCall
from api.service.decisions import find_decision_id
from api.service.proofs import consistency
from ledger.errors import BadNote, InvalidQuery, NotFound
from ledger.log import Query
from ledger.transparency.receipt import Receipt
from ledger.transparency.signed_note import Verifier, encode_base64


class CheckpointParams(ReadArguments, frozen=True, kw_only=True):
    """No parameters but the position."""


class ReceiptParams(ReadArguments, frozen=True, kw_only=True):
    """An event, by its position; or a decision, whose newest event is meant."""

    position: Annotated[int, msgspec.Meta(ge=1)] | None = None
    decision_id: str | None = None


class VerifyParams(ReadArguments, frozen=True, kw_only=True):
    """A receipt, and the key of its log; without a key, the key of this ledger."""

    receipt: str
    key: str | None = None


async def _checkpoint(call: ToolCall, params: CheckpointParams) -> Answer:
    signed = await call.ledger.proving.checkpoint()
    try:
        key: str | None = str(await call.ledger.proving.verifier())
    except NotFound:
        key = None
    checkpoint = signed.checkpoint
    answer: Answer = {
        "note": signed.note.encode().decode(),
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": encode_base64(checkpoint.root),
        "key": key,
    }
    if params.as_of is not None:
        position = await call.view.resolve(str(params.as_of)) or 0
        proof = await consistency(call.ledger, min(position, checkpoint.size), max(position, checkpoint.size))
        answer["consistency"] = [encode_base64(hash_) for hash_ in proof.hashes]
    return answer


async def _receipt(call: ToolCall, params: ReceiptParams) -> Answer:
    if (params.position is None) == (params.decision_id is None):
        raise Refusal(
            "position and decision_id: exactly one of them is needed.",
            "position",
            'Name the event. Example: {"position":1}; or a decision: {"decision_id":"3f2a9c1e"}',
        )
    position = params.position
    if position is None:
        assert params.decision_id is not None
        subject = f"decision/{await find_decision_id(call.view, params.decision_id)}"
        pages = [page async for page in call.view.scan(Query(subjects=(subject,)))]
        position = pages[-1].positions[-1]
    upto = await call.view.resolve(None if params.as_of is None else str(params.as_of))
    if upto is not None and position > upto:
        raise InvalidQuery("position", f"{position} is after {upto}, as of which you ask.", "Leave as_of out.")
    return {"position": position, "receipt": (await call.ledger.proving.receipt(position)).encode().decode()}


async def _verify(call: ToolCall, params: VerifyParams) -> Answer:
    try:
        verifier = await call.ledger.proving.verifier() if params.key is None else Verifier.parse(params.key)
    except BadNote as error:
        raise Refusal(error.detail, "key", "Leave key out to check with the key of this ledger.") from None
    try:
        receipt = Receipt.parse(params.receipt.encode())
    except BadNote as error:
        raise Refusal(error.detail, "receipt", "Send it whole, as get_receipt returns it.") from None
    faults = ["The receipt does not contain its event."]
    if receipt.line is not None:
        faults = receipt.faults(receipt.line, verifier)
    return {
        "valid": not faults,
        "faults": faults,
        "position": receipt.position,
        "origin": receipt.signed.checkpoint.origin,
        "size": receipt.signed.checkpoint.size,
        "event": None if receipt.line is None else receipt.line.decode(errors="replace"),
    }


PROOF_TOOLS = (
    Tool(
        name="get_checkpoint",
        title="Signed checkpoint",
        description="The newest signed checkpoint of the log: its size and root, and the key to check it with.",
        toolset="proof",
        params=CheckpointParams,
        result={"note": str, "origin": str, "size": int, "root": str, "key": str | None, "consistency?": list[str]},
        answer=_checkpoint,
        whole=True,
    ),
    Tool(
        name="get_receipt",
        title="Receipt of an event",
        description="The proof that an event is in the log; it can be checked without the ledger.",
        toolset="proof",
        params=ReceiptParams,
        result={"position": int, "receipt": str},
        answer=_receipt,
        whole=True,
    ),
    Tool(
        name="verify_receipt",
        title="Check a receipt",
        description="Check a receipt with the key of its log, by default the key of this ledger.",
        toolset="proof",
        params=VerifyParams,
        result={"valid": bool, "faults": list[str], "position": int, "origin": str, "size": int, "event": str | None},
        answer=_verify,
        whole=True,
    ),
)
