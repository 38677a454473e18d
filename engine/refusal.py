"""Why a request is refused: a code of the contract (api.md), a sentence, the fields at fault."""

from __future__ import annotations

from dataclasses import dataclass

from aijobs.engine.sentence import Sentence


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One field that is wrong: `field` as a path in the body, `message` says what it must be."""

    field: str
    message: Sentence


class Refused(Exception):
    """A request is not granted; nothing was stored. `retry_after`: seconds until it may be."""

    def __init__(
        self,
        code: str,
        detail: Sentence | None = None,
        *,
        errors: tuple[FieldFault, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.errors = errors
        self.retry_after = retry_after


class Unfit(ValueError):
    """What a validator of a request's field raises: pydantic hands the sentence on."""

    def __init__(self, message: Sentence) -> None:
        super().__init__(message)
        self.message = message


def wrong_field(field: str, message: Sentence) -> Refused:
    """The refusal for one field, which the detail tells in full."""
    detail = Sentence("{field} {message}.", field=field, message=message)
    return Refused("INVALID_REQUEST", detail, errors=(FieldFault(field, message),))
