"""/openapi.json and /docs: what this API can do, for programs and for people; no token needed."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import falcon

from aijobs.engine.registry import Registry
from aijobs.http.docs_page import DocsPage, render
from aijobs.http.openapi import openapi_document


class Documented:
    """Both, each made when it is first asked for and kept."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """The document."""
        resp.content_type = falcon.MEDIA_JSON
        resp.data = self._json

    def on_get_page(self, req: falcon.Request, resp: falcon.Response) -> None:
        """The page."""
        resp.content_type = "text/html; charset=utf-8"
        resp.set_header("Content-Security-Policy", self._page.policy)
        resp.set_header("X-Content-Type-Options", "nosniff")
        resp.set_header("Referrer-Policy", "no-referrer")
        resp.text = self._page.html

    @cached_property
    def _document(self) -> dict[str, Any]:
        return openapi_document(self._registry)

    @cached_property
    def _json(self) -> bytes:
        return json.dumps(self._document, ensure_ascii=False).encode()

    @cached_property
    def _page(self) -> DocsPage:
        return render(self._document)


def add_routes(app: Any, registry: Registry) -> None:
    """Both routes."""
    documented = Documented(registry)
    app.add_route("/openapi.json", documented)
    app.add_route("/docs", documented, suffix="page")
