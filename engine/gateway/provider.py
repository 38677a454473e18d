"""One call over the wire: send, read, and say what it came to.

Invariant: a call is one request; it ends in a Reply, a ProviderFault or a CallCut, and after a cut
in a CallCut whatever the network made of it.
"""

from __future__ import annotations

import ssl
from contextlib import closing
from datetime import UTC, datetime

import httpx

from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import CallCut, Cut
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway.body import error_bytes
from aijobs.engine.gateway.call import Call, calling
from aijobs.engine.gateway.error_body import error_of
from aijobs.engine.gateway.faults import NETWORK_ERRORS, network_fault, status_fault
from aijobs.engine.gateway.outgoing import outgoing
from aijobs.engine.gateway.reading import read_reply
from aijobs.engine.gateway.retry_after import retry_after
from aijobs.engine.gateway.transport import CuttableTransport


class OpenAIProvider:
    """Calls servers that speak OpenAI's chat completions. One object serves all threads.

    Redirects, proxies of the environment and cookies come with httpx.Client, which is not used:
    a key goes to its base URL alone. `tls` replaces the usual certificate authorities.
    """

    def __init__(self, connect_seconds: float = 10.0, *, tls: ssl.SSLContext | None = None) -> None:
        authorities = tls or httpx.create_ssl_context(trust_env=False)
        self._transport = CuttableTransport(connect_seconds, authorities)

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        """One call. Raises ProviderFault, and CallCut when `cut` or its deadline ended the call."""
        cut.check()
        post = outgoing(route, request)
        with calling(cut, public_only=route.public_only) as call:
            outcome = self._exchange(post, route, call)
        if cut.reason is not None:
            raise CallCut(cut.reason)
        if isinstance(outcome, ProviderFault):
            raise outcome
        return outcome

    def close(self) -> None:
        """Close the pooled connections."""
        self._transport.close()

    def _exchange(self, post: httpx.Request, route: Route, call: Call) -> Reply | ProviderFault:
        http_status: int | None = None
        try:
            with closing(self._transport.handle_request(post)) as response:
                http_status = response.status_code
                if response.is_success:
                    return read_reply(response, route, call)
                return _refused(response, route, call)
        except ProviderFault as fault:
            return fault
        except NETWORK_ERRORS as error:
            return network_fault(error, route, http_status)


def _refused(response: httpx.Response, route: Route, call: Call) -> ProviderFault:
    error = error_of(error_bytes(response, call))
    asked = retry_after(response.headers.get("retry-after"), datetime.now(UTC))
    return status_fault(response.status_code, error, route, asked)
