"""What every request passes: an id that it keeps, and a token that says whose it is."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import falcon
import structlog

from aijobs.engine.refusal import Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.settings import Settings
from aijobs.http.tokens import Identity, InvalidToken, Role, Verifier

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_READING = ("GET", "HEAD", "OPTIONS")
USER_PREFIXES = ("/api/ai", "/ai")
ADMIN_PREFIXES = ("/admin-api/ai",)


class RequestId:
    """X-Request-Id is echoed or made."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        given = req.get_header("X-Request-Id") or ""
        request_id = given if _REQUEST_ID.fullmatch(given) else str(uuid4())
        req.context.request_id = request_id
        resp.set_header("X-Request-Id", request_id)
        structlog.contextvars.bind_contextvars(request_id=request_id)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, succeeded: bool
    ) -> None:
        structlog.contextvars.clear_contextvars()


class CleanQuery:
    """Text that no database can store is refused at the door: U+0000 and lone surrogates."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        for name, given in req.params.items():
            values = given if isinstance(given, list) else [given]  # a list when it comes twice
            if any(_UNSTORABLE.search(text) for text in (name, *values)):
                detail = Sentence("A query parameter holds U+0000: remove it.")
                raise Refused("INVALID_REQUEST", detail)
        if _UNSTORABLE.search(req.path):
            raise Refused("NOT_FOUND", Sentence("A path never holds U+0000."))


class Authentication:
    """Step 1 of every request of a user or an administrator: a valid bearer token, else one 401
    body; and a role that may do it, else one 403 body, whether there is such a route or not.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError when tokens cannot be verified."""
        self._verifier = Verifier(settings)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        if is_below(req, USER_PREFIXES):
            self._identify(req)
        elif is_below(req, ADMIN_PREFIXES):
            self._identify(req)
            _check_role(identity_of(req).role, req.method)

    def _identify(self, req: falcon.Request) -> None:
        scheme, _, token = (req.auth or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise InvalidToken("no bearer token")
        req.context.identity = self._verifier.verify(token.strip())


def _check_role(role: Role, method: str) -> None:
    if role == "USER":
        detail = Sentence("This needs a token with the role ADMIN or SUPER_ADMIN.")
        raise Refused("FORBIDDEN", detail)
    if role == "ADMIN" and method not in _READING:
        detail = Sentence("To change something needs a token with the role SUPER_ADMIN.")
        raise Refused("FORBIDDEN", detail)


def is_below(req: falcon.Request, prefixes: tuple[str, ...]) -> bool:
    """Whether the path is one of these prefixes or below it."""
    path = "/" + req.path.lstrip("/")  # as the router reads it
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes)


def identity_of(req: falcon.Request) -> Identity:
    """Who asks."""
    identity: Identity = req.context.identity
    return identity


def administrator_of(req: falcon.Request) -> str:
    """Who asks, as the audit names an administrator."""
    return f"admin:{identity_of(req).user_id}"
