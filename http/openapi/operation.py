"""An operation of the API as a value: what may be sent to it, what it may answer.

Invariant: everything that only documents is here and in the tables of operations; what validates
stays with the resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydantic import BaseModel

from aijobs.http.middleware import USER_PREFIXES

#: The prefix that is documented; the others answer the same.
API = USER_PREFIXES[0]


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something beside the body; `place` is query or header."""

    name: str
    schema: Mapping[str, Any]
    sentence: str
    place: str = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class FileBody:
    """A body that is a file: an example of its text by media type, None where it may be binary."""

    examples: Mapping[str, str | None]
    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back when the request is granted. `headers` are names of `HEADERS`; without an
    `example` of its own it has that of its shape.
    """

    status: int
    sentence: str
    shape: type[BaseModel] | None = None
    headers: tuple[str, ...] = ()
    example: Mapping[str, Any] | None = None
    media_type: str | None = None  # of an answer without a shape


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `problems` are codes beyond those that every operation has."""

    id: str
    method: str
    path: str
    summary: str
    _: KW_ONLY
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: type[BaseModel] | FileBody | None = None
    answers: tuple[Answer, ...]
    problems: tuple[str, ...] = ()
    needs_token: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """Operations under one heading."""

    name: str
    sentence: str
    operations: tuple[Operation, ...]


#: The headers of answers, by name.
HEADERS = {
    "Location": "The address of what was created.",
    "ETag": "Changes with the job's status, its progress and a request to cancel it.",
    "WWW-Authenticate": "`Bearer`.",
    "Retry-After": "Seconds after which to try again, where known.",
    "RateLimit-Limit": "How many requests a minute you may send.",
    "RateLimit-Remaining": "How many of them are left.",
    "RateLimit-Reset": "Seconds until all of them are.",
}
