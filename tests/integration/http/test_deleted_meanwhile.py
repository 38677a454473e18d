"""What a request writes about is deleted while it writes: it waits, then stores nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import falcon.testing
import psycopg2
import pytest

from aijobs.models import database as db
from aijobs.models import learner
from tests.eventually import eventually
from tests.integration.http.caller import Caller, problem
from tests.world import World, whole_database

Ask = Callable[[Caller, World], falcon.testing.Result]


def _add_points(me: Caller, here: World) -> falcon.testing.Result:
    points = [{"title": "t", "body": "b"}]
    return me.post(f"/knowledge-bases/{here.base_id}/points", {"points": points})


def _import(me: Caller, here: World) -> falcon.testing.Result:
    return me.send(f"/knowledge-bases/{here.base_id}/import", b"title,body\nt,b\n", "text/csv")


def _add_material(me: Caller, here: World) -> falcon.testing.Result:
    body = {"title": "t", "body": "b", "knowledgeBaseId": str(here.base_id)}
    return me.post("/materials", body)


def _move_material(me: Caller, here: World) -> falcon.testing.Result:
    (found,) = me.get("/materials").json["items"]
    body = {"title": "t", "body": "b", "knowledgeBaseId": str(here.base_id)}
    return me.put(f"/materials/{found['id']}", body)


def _add_records(me: Caller, here: World) -> falcon.testing.Result:
    points = db.read(lambda: learner.source_points(here.user_id))
    record = {"activity": "quiz", "at": "2026-03-01T09:30:00Z"}
    records = [{**record, "knowledgePointId": str(point["id"])} for point in points]
    return me.post("/study-records", {"records": records})


@pytest.mark.parametrize("ask", [_add_points, _import, _add_material, _move_material, _add_records])
def test_the_request_waits_and_then_finds_no_target(me: Caller, here: World, ask: Ask) -> None:
    me.post("/materials", {"title": "Outside", "body": "of any knowledge base"})
    with closing(psycopg2.connect(here.engine.settings.database_url)) as other:
        other.cursor().execute("DELETE FROM knowledge_base WHERE id = %s", (str(here.base_id),))
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask, me, here)
            try:
                eventually(_somebody_waits_for_a_lock, 30)
                assert not answer.done()
            finally:
                other.commit()
    assert problem(answer.result())[:2] == (404, "TARGET_NOT_FOUND")
    assert _stored() == {"knowledge_point": 0, "material": 1, "study_record": 0}


def _somebody_waits_for_a_lock() -> bool:
    sql = (
        "SELECT 1 AS one FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return db.read(lambda: db.row(sql)) is not None


def _stored() -> dict[str, int]:
    return {
        table: len(rows)
        for table, rows in whole_database().items()
        if table in ("knowledge_point", "material", "study_record")
    }
