"""/materials: the user's own longer texts. A list leaves the texts out and tells their lengths."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import falcon
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from uuid_utils.compat import uuid7

from aijobs.engine.refusal import Refused
from aijobs.engine.request import Id
from aijobs.engine.sentence import Sentence
from aijobs.engine.validation import NOT_BLANK
from aijobs.http.body import read_model
from aijobs.http.knowledge_bases import Title, own_base
from aijobs.http.middleware import identity_of
from aijobs.http.moments import moment
from aijobs.http.paging import uuid_param, window_of
from aijobs.http.views import present
from aijobs.models import database as db
from aijobs.models import learner, materials
from aijobs.models.materials import NewMaterial
from aijobs.models.tables import Material


class MaterialBody(BaseModel):
    """A material in full."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel)

    title: Title
    body: Annotated[str, Field(min_length=1, max_length=200_000, pattern=NOT_BLANK)]
    knowledge_base_id: Id | None = None

    def as_new(self, material_id: UUID) -> NewMaterial:
        """As the models take it."""
        return NewMaterial(material_id, self.title, self.body, self.knowledge_base_id)


class Materials:
    """/materials."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        body = read_model(req, MaterialBody)
        made = materials.add(identity_of(req).user_id, body.as_new(uuid7()))
        resp.status = falcon.HTTP_201
        resp.location = f"{req.path.rstrip('/')}/{made.id}"
        resp.media = _view(made)

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        window = window_of(req)
        user_id, base_id = identity_of(req).user_id, uuid_param(req, "knowledgeBaseId")
        if base_id is not None:
            own_base(req, base_id)
        found = db.read(
            lambda: materials.page(user_id, base_id, after=window.after, limit=window.limit + 1)
        )
        resp.media = window.page(found, _line)

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, material_id: UUID) -> None:
        user_id = identity_of(req).user_id
        material = db.read(lambda: learner.material_of(material_id, user_id))
        if material is None:
            raise _no_material()
        resp.media = _view(material)

    def on_put_one(self, req: falcon.Request, resp: falcon.Response, material_id: UUID) -> None:
        body = read_model(req, MaterialBody)
        if not materials.change(identity_of(req).user_id, body.as_new(material_id)):
            raise _no_material()
        self.on_get_one(req, resp, material_id)

    def on_delete_one(self, req: falcon.Request, resp: falcon.Response, material_id: UUID) -> None:
        if not materials.delete(material_id, identity_of(req).user_id):
            raise _no_material()
        resp.status = falcon.HTTP_204


def add_routes(app: Any, prefix: str) -> None:
    """The list and one of it."""
    resource = Materials()
    app.add_route(f"{prefix}/materials", resource)
    app.add_route(f"{prefix}/materials/{{material_id:uuid}}", resource, suffix="one")


def _line(material: Any) -> dict[str, Any]:
    return present(
        {
            "id": str(material.id),
            "knowledgeBaseId": material.knowledge_base_id and str(material.knowledge_base_id),
            "title": material.title,
            "length": material.length,
            "createdAt": moment(material.created_at),
        }
    )


def _view(material: Material) -> dict[str, Any]:
    return present(
        {
            "id": str(material.id),
            "knowledgeBaseId": material.knowledge_base_id and str(material.knowledge_base_id),
            "title": material.title,
            "body": material.body,
            "createdAt": moment(material.created_at),
        }
    )


def _no_material() -> Refused:
    return Refused("NOT_FOUND", Sentence("No material of yours has this id."))
