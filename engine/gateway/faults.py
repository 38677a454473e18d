"""From what went wrong on the wire to a class of the error table (contract: engine.md, Errors).

Invariant: the class follows from type, status and error code; words count for HTTP 400 alone.
"""

from __future__ import annotations

import httpcore
import httpx

from aijobs.engine.chat import Route, TokenUsage
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway.connect import PrivateAddress
from aijobs.engine.gateway.error_body import ErrorBody
from aijobs.engine.gateway.known_errors import class_of_code, class_of_message
from aijobs.engine.gateway.redact import redact

#: What the HTTP client and the sockets below it raise.
NETWORK_ERRORS: tuple[type[Exception], ...] = (
    OSError,
    httpx.HTTPError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
)

_FROM_STATUS = {
    401: "CREDENTIAL_INVALID",
    402: "PROVIDER_ACCOUNT",
    403: "CREDENTIAL_INVALID",
    404: "PROVIDER_ACCOUNT",
    408: "PROVIDER_TIMEOUT",
    409: "PROVIDER_TIMEOUT",
}
#: What a code can turn a 400 into; any other code leaves it a bad request.
_FROM_400 = ("CONTENT_SAFETY_BLOCKED", "CREDENTIAL_INVALID", "PROVIDER_ACCOUNT")


class AnsweredFault(ProviderFault):
    """The provider answered, and the answer is a fault. `usage`: what it counted, if it said so."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        http_status: int,
        usage: TokenUsage | None = None,
        response_model: str | None = None,
    ) -> None:
        super().__init__(code, detail, http_status=http_status)
        self.usage = usage
        self.response_model = response_model


def network_fault(error: Exception, route: Route, http_status: int | None) -> ProviderFault:
    """No complete answer arrived: time-out, DNS, TLS, a connection that ended."""
    code = "PROVIDER_ACCOUNT" if isinstance(error, PrivateAddress) else "PROVIDER_TIMEOUT"
    detail = redact(f"{type(error).__name__}: {error}", route.api_key)
    return ProviderFault(code, detail, http_status=http_status)


def status_fault(
    status: int, error: ErrorBody, route: Route, retry_after: float | None
) -> ProviderFault:
    """An HTTP status other than 2xx."""
    return ProviderFault(
        _class_of_status(status, error, route.model),
        describe(f"HTTP {status}", error, route),
        http_status=status,
        retry_after=retry_after,
    )


def class_of_inner(error: ErrorBody, model: str) -> str:
    """An error that came with HTTP 200: by its own code, else the provider is unavailable."""
    if known := class_of_code(error):
        return known
    if error.status is not None and error.status >= 400:
        return _class_of_status(error.status, error, model)
    return "PROVIDER_UNAVAILABLE"


def describe(what: str, error: ErrorBody, route: Route) -> str:
    """A line for operators, without secrets."""
    known = " ".join([what, *filter(None, ["/".join(error.codes)])])
    return redact(f"{known}: {error.message.strip() or 'nothing more was said'}", route.api_key)


def _class_of_status(status: int, error: ErrorBody, model: str) -> str:
    if status == 400:
        known = class_of_code(error)
        return (known if known in _FROM_400 else None) or (
            class_of_message(error, model) or "PROVIDER_BAD_REQUEST"
        )
    if status == 429:
        out_of_money = class_of_code(error) == "PROVIDER_ACCOUNT"
        return "PROVIDER_ACCOUNT" if out_of_money else "PROVIDER_RATE_LIMITED"
    if status in _FROM_STATUS:
        return _FROM_STATUS[status]
    if 300 <= status < 400:
        return "PROVIDER_ACCOUNT"
    return "PROVIDER_BAD_REQUEST" if 400 <= status < 500 else "PROVIDER_UNAVAILABLE"
