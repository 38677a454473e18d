"""Reading a request's body: strict JSON of bounded size and depth, else refused at the door."""

from __future__ import annotations

from typing import Any, TypeVar

import falcon
from pydantic import BaseModel, ValidationError

from aijobs.engine.answer.strict import NotJson, Unacceptable, loads
from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.validation import invalid
from aijobs.http.broken_json import place_in

M = TypeVar("M", bound=BaseModel)

MAX_BYTES = 1_000_000


def read_json(req: falcon.Request) -> Any:
    """The body as a JSON value.

    Raises Refused INVALID_REQUEST, PAYLOAD_TOO_LARGE or, for another content type,
    UNSUPPORTED_MEDIA_TYPE.
    """
    _check_type(req)
    raw = read_bytes(req)
    if not raw.strip():
        raise Refused("INVALID_REQUEST", Sentence("The body is empty: send a JSON object."))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        detail = Sentence("The body is not UTF-8 at byte {place}.", place=error.start)
        raise Refused("INVALID_REQUEST", detail) from None
    try:
        return loads(text)
    except NotJson:
        detail = Sentence("The body is not JSON: check quotes and commas.")
        raise Refused("INVALID_REQUEST", detail) from None
    except Unacceptable as problem:
        fault = FieldFault(place_in(text), problem.sentence)
        detail = Sentence("The body cannot be used: {problem}", problem=problem.sentence)
        raise Refused("INVALID_REQUEST", detail, errors=(fault,)) from None


def read_model(req: falcon.Request, model: type[M]) -> M:
    """The body as a model. Raises Refused INVALID_REQUEST naming each field at fault."""
    value = read_json(req)
    if not isinstance(value, dict):
        raise Refused("INVALID_REQUEST", Sentence("The body must be a JSON object."))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid(error) from None


def read_bytes(req: falcon.Request, limit: int = MAX_BYTES) -> bytes:
    """The body as it came. Raises Refused PAYLOAD_TOO_LARGE beyond `limit` bytes."""
    if (req.content_length or 0) > limit:
        raise _too_large(limit)
    # A body in chunks has no length: the server tells its end, and Falcon's own bound would be 0.
    stream = req.stream if req.env.get("wsgi.input_terminated") else req.bounded_stream
    try:
        raw: bytes = stream.read(limit + 1)
    except (
        Exception
    ):  # each server has its own words for a client that breaks off or garbles chunks
        detail = Sentence("The body did not arrive whole: send it again.")
        raise Refused("INVALID_REQUEST", detail) from None
    if len(raw) > limit:
        raise _too_large(limit)
    return raw


def _too_large(limit: int) -> Refused:
    return Refused("PAYLOAD_TOO_LARGE", Sentence("At most {limit} bytes.", limit=limit))


def _check_type(req: falcon.Request) -> None:
    kind = (req.content_type or "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "") and not kind.endswith("+json"):
        detail = Sentence("Content-Type {kind} is not supported: send application/json.", kind=kind)
        raise Refused("UNSUPPORTED_MEDIA_TYPE", detail)
