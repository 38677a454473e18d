"""/study-records: what the user has studied, when, and how it went."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

import falcon
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from uuid_utils.compat import uuid7

from aijobs.engine.refusal import FieldFault, Refused, Unfit
from aijobs.engine.request import Id
from aijobs.engine.sentence import Sentence
from aijobs.http.body import read_model
from aijobs.http.middleware import identity_of
from aijobs.http.moments import moment
from aijobs.http.paging import uuid_param, window_of
from aijobs.http.views import present
from aijobs.models import database as db
from aijobs.models import learner, study
from aijobs.models.study import NewRecord
from aijobs.models.tables import StudyRecord

_EARLIEST = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SLACK = dt.timedelta(days=1)  # of a clock that is wrong, or a zone
_DAY_MS = 86_400_000


def _time_of_study(given: object) -> dt.datetime:
    try:
        if not isinstance(given, str):
            raise ValueError
        at = dt.datetime.fromisoformat(given)
    except ValueError:
        raise Unfit(Sentence("must be a time in ISO 8601, like 2026-03-01T09:30:00Z")) from None
    if at.tzinfo is None:
        raise Unfit(Sentence("must tell its zone: end it with Z or an offset like +08:00"))
    if not _EARLIEST <= at <= dt.datetime.now(dt.UTC) + _SLACK:
        raise Unfit(Sentence("must lie between 1970 and tomorrow"))
    return at.astimezone(dt.UTC)  # some offsets that Python reads are none to the database


class RecordBody(BaseModel):
    """One act of studying."""

    model_config = ConfigDict(
        strict=True, extra="forbid", alias_generator=to_camel, allow_inf_nan=False
    )

    knowledge_point_id: Id
    activity: Literal["quiz", "flashcard", "recall", "reading"]
    correct: bool | None = None
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    duration_ms: Annotated[int, Field(ge=0, le=_DAY_MS)] | None = None
    at: Annotated[dt.datetime, BeforeValidator(_time_of_study)]


class RecordsBody(BaseModel):
    """Records to add, all or none."""

    model_config = ConfigDict(strict=True, extra="forbid")

    records: Annotated[list[RecordBody], Field(min_length=1, max_length=500)]


class StudyRecords:
    """/study-records."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        given = read_model(req, RecordsBody).records
        records = [NewRecord(id=uuid7(), **record.model_dump()) for record in given]
        missing = study.add_records(identity_of(req).user_id, records)
        if missing:
            raise _no_points([i for i, r in enumerate(given) if r.knowledge_point_id in missing])
        resp.status = falcon.HTTP_201
        resp.media = {"count": len(records)}

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        window = window_of(req)
        user_id, point_id = identity_of(req).user_id, uuid_param(req, "knowledgePointId")

        def look() -> list[StudyRecord]:
            if point_id is not None and not learner.owns("knowledge_point", point_id, user_id):
                raise Refused("NOT_FOUND", Sentence("No knowledge point of yours has this id."))
            return study.page(user_id, point_id, after=window.after, limit=window.limit + 1)

        resp.media = window.page(db.read(look), _view, by="at")


def add_routes(app: Any, prefix: str) -> None:
    """The one route."""
    app.add_route(f"{prefix}/study-records", StudyRecords())


def _no_points(places: list[int]) -> Refused:
    faults = tuple(
        FieldFault(
            f"records.{place}.knowledgePointId", Sentence("must be the id of a point of yours")
        )
        for place in places
    )
    detail = Sentence(
        "No knowledge point of yours has the id in records[{place}]; nothing was stored.",
        place=places[0],
    )
    return Refused("TARGET_NOT_FOUND", detail, errors=faults)


def _view(record: StudyRecord) -> dict[str, Any]:
    return present(
        {
            "id": str(record.id),
            "knowledgePointId": str(record.knowledge_point_id),
            "activity": record.activity,
            "correct": record.correct,
            "score": record.score,
            "durationMs": record.duration_ms,
            "at": moment(record.at),
        }
    )
