"""The body of POST /jobs: fields of every job type; the rest are the type's own parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError
from pydantic.alias_generators import to_camel

from aijobs.engine.answer import output_hash
from aijobs.engine.refusal import FieldFault, Refused

#: The pattern of texts that must say something.
NOT_BLANK = r"\S"
Id = Annotated[UUID, Strict(False)]
Key = Annotated[str, Field(min_length=1, max_length=200)]


class JobRequest(BaseModel):
    """A request for a job. `priority`: 0 first, 100 last; a user may only lower a job's urgency."""

    model_config = ConfigDict(
        strict=True, extra="allow", frozen=True, alias_generator=to_camel, allow_inf_nan=False
    )

    job_type: Annotated[str, Field(min_length=1, max_length=64)]
    target_type: Annotated[str, Field(min_length=1, max_length=64)]
    target_id: Id
    api_key_mode: Literal["platform_key", "user_key"] | None = None
    credential_id: Id | None = None
    idempotency_key: Key | None = None
    priority: Annotated[int, Field(ge=0, le=100)] | None = None
    after: Annotated[list[Id], Field(max_length=10)] = []

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields that belong to the job type."""
        return dict(self.model_extra or {})


def parse(body: Any, header_key: str | None) -> JobRequest:
    """Raises Refused INVALID_REQUEST naming each field at fault."""
    if not isinstance(body, dict):
        raise Refused("INVALID_REQUEST", "The body must be a JSON object.")
    try:
        request = JobRequest.model_validate(body)
    except ValidationError as error:
        raise invalid(error) from None
    if header_key is None:
        return request
    if request.idempotency_key not in (None, header_key):
        fault = FieldFault("idempotencyKey", "differs from the Idempotency-Key header")
        raise Refused("INVALID_REQUEST", "Two idempotency keys are given.", errors=(fault,))
    if not 1 <= len(header_key) <= 200:
        fault = FieldFault("Idempotency-Key", "must have 1 to 200 characters")
        raise Refused("INVALID_REQUEST", "The idempotency key cannot be used.", errors=(fault,))
    return request.model_copy(update={"idempotency_key": header_key})


def invalid(error: ValidationError) -> Refused:
    """A validation error as a refusal with one entry per field."""
    faults = tuple(
        FieldFault(".".join(map(str, item["loc"])) or "body", _sentence(item))
        for item in error.errors(include_url=False, include_input=False)
    )
    return Refused("INVALID_REQUEST", "Some fields are not valid.", errors=faults)


def _sentence(item: Any) -> str:
    """What is wrong with a field, without a regular expression in it."""
    if item["type"] == "string_pattern_mismatch":
        is_blank = item["ctx"]["pattern"] == NOT_BLANK
        return "must not be blank" if is_blank else "does not have the form that is asked for"
    message: str = item["msg"]
    return message.removeprefix("Value error, ")


def body_hash(body: dict[str, Any]) -> str:
    """Identifies what was asked, whatever its key and the order of its fields."""
    return output_hash({name: value for name, value in body.items() if name != "idempotencyKey"})
