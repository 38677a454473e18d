"""/knowledge-bases and their points: the user's own study material."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import falcon
from pydantic import BaseModel, ConfigDict, Field
from uuid_utils.compat import uuid7

from aijobs.engine.points import BODY_LENGTH, TAG_LENGTH, TAGS, TITLE_LENGTH
from aijobs.engine.refusal import Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.validation import NOT_BLANK
from aijobs.http.body import read_model
from aijobs.http.middleware import identity_of
from aijobs.http.paging import window_of
from aijobs.http.views import base_view, point_view
from aijobs.models import database as db
from aijobs.models import learner
from aijobs.models.learner import NewPoint
from aijobs.models.tables import KnowledgeBase

Title = Annotated[str, Field(min_length=1, max_length=TITLE_LENGTH, pattern=NOT_BLANK)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class BaseBody(_Body):
    """A knowledge base to create or rename."""

    title: Title


class PointBody(_Body):
    """A knowledge point."""

    title: Title
    body: Annotated[str, Field(min_length=1, max_length=BODY_LENGTH, pattern=NOT_BLANK)]
    tags: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=TAG_LENGTH)]], Field(max_length=TAGS)
    ] = []


class PointsBody(_Body):
    """Points to append, all or none."""

    points: Annotated[list[PointBody], Field(min_length=1, max_length=500)]


class KnowledgeBases:
    """/knowledge-bases."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        body = read_model(req, BaseBody)
        base = learner.add_base(uuid7(), identity_of(req).user_id, body.title)
        resp.status = falcon.HTTP_201
        resp.location = f"{req.path.rstrip('/')}/{base.id}"
        resp.media = base_view(base)

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        window = window_of(req)
        user_id = identity_of(req).user_id
        found = db.read(lambda: learner.bases(user_id, after=window.after, limit=window.limit + 1))
        resp.media = window.page(found, base_view)

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, base_id: UUID) -> None:
        resp.media = base_view(own_base(req, base_id))

    def on_put_one(self, req: falcon.Request, resp: falcon.Response, base_id: UUID) -> None:
        body = read_model(req, BaseBody)
        own_base(req, base_id)
        learner.rename_base(base_id, identity_of(req).user_id, body.title)
        resp.media = base_view(own_base(req, base_id))

    def on_delete_one(self, req: falcon.Request, resp: falcon.Response, base_id: UUID) -> None:
        own_base(req, base_id)
        learner.delete_base(base_id, identity_of(req).user_id)
        resp.status = falcon.HTTP_204


class KnowledgePoints:
    """/knowledge-bases/{id}/points."""

    def on_post(self, req: falcon.Request, resp: falcon.Response, base_id: UUID) -> None:
        body = read_model(req, PointsBody)
        own_base(req, base_id)
        points = [NewPoint(uuid7(), p.title, p.body, tuple(p.tags)) for p in body.points]
        resp.status = falcon.HTTP_201
        resp.media = {"items": [point_view(p) for p in learner.add_points(base_id, points)]}

    def on_get(self, req: falcon.Request, resp: falcon.Response, base_id: UUID) -> None:
        window = window_of(req)
        own_base(req, base_id)
        found = db.read(lambda: learner.points(base_id, after=window.after, limit=window.limit + 1))
        resp.media = window.page(found, point_view)

    def on_put_one(
        self, req: falcon.Request, resp: falcon.Response, base_id: UUID, point_id: UUID
    ) -> None:
        body = read_model(req, PointBody)
        own_base(req, base_id)
        new = NewPoint(point_id, body.title, body.body, tuple(body.tags))
        if not learner.change_point(base_id, new):
            raise _no_point()
        self.on_get_one(req, resp, base_id, point_id)

    def on_get_one(
        self, req: falcon.Request, resp: falcon.Response, base_id: UUID, point_id: UUID
    ) -> None:
        own_base(req, base_id)
        point = db.read(lambda: learner.point_of(base_id, point_id))
        if point is None:
            raise _no_point()
        resp.media = point_view(point)

    def on_delete_one(
        self, req: falcon.Request, resp: falcon.Response, base_id: UUID, point_id: UUID
    ) -> None:
        own_base(req, base_id)
        if not learner.delete_point(base_id, point_id):
            raise _no_point()
        resp.status = falcon.HTTP_204


def own_base(req: falcon.Request, base_id: UUID) -> KnowledgeBase:
    """The user's knowledge base. Raises Refused NOT_FOUND, for another user's too."""
    base = db.read(lambda: learner.base_of(base_id, identity_of(req).user_id))
    if base is None:
        raise Refused("NOT_FOUND", Sentence("No knowledge base of yours has this id."))
    return base


def _no_point() -> Refused:
    return Refused("NOT_FOUND", Sentence("No point of this knowledge base has this id."))
