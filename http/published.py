"""/quizzes and /flashcards: the published content of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import falcon

from aijobs.http.knowledge_bases import own_base
from aijobs.http.middleware import identity_of
from aijobs.http.paging import uuid_param, window_of
from aijobs.models import database as db
from aijobs.models import jobs
from aijobs.models.tables import Flashcard, QuizQuestion


class Published:
    """A list of one kind of published rows, by `knowledgeBaseId`."""

    def __init__(
        self,
        table: type[QuizQuestion] | type[Flashcard],
        view: Callable[[Any], dict[str, Any]],
    ) -> None:
        self._table = table
        self._view = view

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        window = window_of(req)
        base_id = uuid_param(req, "knowledgeBaseId", required=True)
        assert base_id is not None
        own_base(req, base_id)
        user_id = identity_of(req).user_id
        found = db.read(
            lambda: jobs.published(
                self._table, user_id, base_id, after=window.after, limit=window.limit + 1
            )
        )
        resp.media = window.page(found, self._view)
