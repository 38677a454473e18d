"""/knowledge-bases/{id}/import: a file becomes points, all of it or nothing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import falcon
from uuid_utils.compat import uuid7

from aijobs.engine.importing import FORMATS, MAX_BYTES, read_points
from aijobs.engine.refusal import Refused
from aijobs.engine.sentence import Sentence
from aijobs.http.body import read_bytes
from aijobs.http.knowledge_bases import own_base
from aijobs.http.paging import choice_param
from aijobs.models import learner
from aijobs.models.learner import NewPoint

_FORMAT_OF = {"text/markdown": "markdown", "text/x-markdown": "markdown", "text/csv": "csv"}
_UNTOLD = ("application/octet-stream", "text/plain", "")


class Import:
    """/knowledge-bases/{id}/import."""

    def on_post(self, req: falcon.Request, resp: falcon.Response, base_id: UUID) -> None:
        kind, parameters = falcon.parse_header(req.content_type or "")
        file_format = _format(kind.lower(), choice_param(req, "format", tuple(FORMATS)))
        own_base(req, base_id)
        raw = read_bytes(req, MAX_BYTES)
        drafts = read_points(raw, file_format, charset=parameters.get("charset"))
        points = [NewPoint(uuid7(), draft.title, draft.body, draft.tags) for draft in drafts]
        learner.add_points(base_id, points)
        resp.status = falcon.HTTP_201
        resp.media = {"imported": len(points)}


def add_routes(app: Any, prefix: str) -> None:
    """The one route."""
    app.add_route(f"{prefix}/knowledge-bases/{{base_id:uuid}}/import", Import())


def _format(kind: str, asked: str | None) -> str:
    """The content type tells the format; where it tells none, `?format=` does."""
    told = _FORMAT_OF.get(kind) or (asked if kind in _UNTOLD else None)
    if told is None or asked not in (None, told):
        detail = Sentence(
            "Send Content-Type text/markdown or text/csv, or application/octet-stream with "
            "?format=markdown or ?format=csv."
        )
        raise Refused("UNSUPPORTED_MEDIA_TYPE", detail)
    return told
