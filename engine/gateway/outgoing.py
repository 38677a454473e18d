"""A chat request as an HTTP request.

Invariant: the key is in one header and nowhere else; what cannot be sent is a fault beforehand.
"""

from __future__ import annotations

import json
from typing import Any

import httpx

from aijobs.engine.chat import ChatRequest, Route
from aijobs.engine.errors import ProviderFault


def outgoing(route: Route, request: ChatRequest) -> httpx.Request:
    """The POST for one call. Raises ProviderFault."""
    return httpx.Request(
        "POST", _url(route.base_url), headers=_headers(route), content=_content(route, request)
    )


def chat_body(route: Route, request: ChatRequest) -> dict[str, Any]:
    """The JSON body: ours, then the route's extra fields over it.

    Thinking is always said: servers that can think do so by default, at our cost.
    """
    body: dict[str, Any] = {
        "model": route.model,
        "messages": [
            {"role": message.role, "content": message.content} for message in request.messages
        ],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "thinking": {"type": "enabled" if request.thinking else "disabled"},
        "response_format": {"type": "json_object"},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body.update(route.extra_body)
    return {name: value for name, value in body.items() if value is not None}


def _content(route: Route, request: ChatRequest) -> bytes:
    try:
        body = chat_body(route, request)
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        problem = type(error).__name__
    raise ProviderFault("PROVIDER_BAD_REQUEST", f"the request cannot be written as JSON: {problem}")


def _url(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip().rstrip("/") + "/chat/completions")
        usable = url.scheme in ("http", "https") and bool(url.host) and not url.userinfo
    except (httpx.InvalidURL, ValueError):
        usable = False
    if not usable:
        raise ProviderFault(
            "PROVIDER_ACCOUNT",
            "the base URL must be http(s)://host/... without name and password",
        )
    return url


def _headers(route: Route) -> httpx.Headers:
    """httpx.Headers hides the key in its repr. An empty key (a server without keys) sends none."""
    headers = httpx.Headers(
        {
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "aijobs",
        }
    )
    key = route.api_key.strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ProviderFault("CREDENTIAL_INVALID", "the key has characters that no header can carry")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return headers
