"""The body of POST /jobs: fields of every job type; the rest are the type's own parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError
from pydantic.alias_generators import to_camel

from aijobs.engine.answer import output_hash
from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.validation import invalid

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
        raise Refused("INVALID_REQUEST", Sentence("The body must be a JSON object."))
    try:
        request = JobRequest.model_validate(body)
    except ValidationError as error:
        raise invalid(error) from None
    if header_key is None:
        return request
    if request.idempotency_key not in (None, header_key):
        fault = FieldFault("idempotencyKey", Sentence("differs from the Idempotency-Key header"))
        detail = Sentence("Two idempotency keys are given.")
        raise Refused("INVALID_REQUEST", detail, errors=(fault,))
    if not 1 <= len(header_key) <= 200:
        fault = FieldFault("Idempotency-Key", Sentence("must have 1 to 200 characters"))
        detail = Sentence("The idempotency key cannot be used.")
        raise Refused("INVALID_REQUEST", detail, errors=(fault,))
    return request.model_copy(update={"idempotency_key": header_key})


def body_hash(body: dict[str, Any]) -> str:
    """Identifies what was asked, whatever its key and the order of its fields."""
    return output_hash({name: value for name, value in body.items() if name != "idempotencyKey"})
