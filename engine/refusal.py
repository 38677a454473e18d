"""Why a request is refused: a code of the contract (api.md), a sentence, the fields at fault."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One field that is wrong: `field` as a path in the body, `message` says what it must be."""

    field: str
    message: str


class Refused(Exception):
    """A request is not granted; nothing was stored. `retry_after`: seconds until it may be."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        errors: tuple[FieldFault, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.errors = errors
        self.retry_after = retry_after
