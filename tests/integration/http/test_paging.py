"""Lists page by page: every row that was there comes once, whatever is written meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.models import database as db
from tests.integration.http.caller import Caller
from tests.world import World

ROWS = 11
SAME_TIME = "2026-03-01T00:00:00Z"


def _write(sql: str, **params: Any) -> None:
    db.read(lambda: db.rows(sql, params))


def _add_job(me: Caller, here: World) -> None:
    here.create()


def _add_base(me: Caller, here: World) -> None:
    me.post("/knowledge-bases", {"title": "t"})


def _add_point(me: Caller, here: World) -> None:
    body = {"points": [{"title": "t", "body": "b"}]}
    me.post(f"/knowledge-bases/{here.base_id}/points", body)


def _add_material(me: Caller, here: World) -> None:
    me.post("/materials", {"title": "t", "body": "b"})


def _add_record(me: Caller, here: World) -> None:
    _write(
        "INSERT INTO study_record (id, user_id, knowledge_point_id, activity) "
        "SELECT %(id)s, %(user)s, id, 'quiz' FROM knowledge_point LIMIT 1",
        id=uuid4(),
        user=here.user_id,
    )


def _add_question(me: Caller, here: World) -> None:
    _write(
        "INSERT INTO quiz_question "
        "(id, knowledge_base_id, content_hash, job_id, question, options, answer_index) "
        "VALUES (%(id)s, %(base)s, %(id)s, %(job)s, 'q', '[\"a\", \"b\"]', 0)",
        id=uuid4(),
        base=here.base_id,
        job=here.create().id,
    )


def _add_card(me: Caller, here: World) -> None:
    _write(
        "INSERT INTO flashcard (id, knowledge_base_id, content_hash, job_id, front, back) "
        "VALUES (%(id)s, %(base)s, %(id)s, %(job)s, 'f', 'b')",
        id=uuid4(),
        base=here.base_id,
        job=here.create().id,
    )


def _add_weak_point(me: Caller, here: World) -> None:
    _write(
        "INSERT INTO weak_point_candidate "
        "(id, job_id, user_id, target_type, target_id, ordinal, topic, severity, evidence) "
        "VALUES (%(id)s, %(job)s, %(user)s, 'user', %(user)s, 0, 't', 'low', 'e')",
        id=uuid4(),
        job=here.create().id,
        user=here.user_id,
    )


#: Path -> table, the column that orders it, and what adds one more row.
LISTS: dict[str, tuple[str, str, Callable[[Caller, World], None]]] = {
    "/jobs": ("ai_job", "created_at", _add_job),
    "/knowledge-bases": ("knowledge_base", "created_at", _add_base),
    "/knowledge-bases/{base}/points": ("knowledge_point", "created_at", _add_point),
    "/materials": ("material", "created_at", _add_material),
    "/study-records": ("study_record", "at", _add_record),
    "/quizzes": ("quiz_question", "created_at", _add_question),
    "/flashcards": ("flashcard", "created_at", _add_card),
    "/weak-points": ("weak_point_candidate", "created_at", _add_weak_point),
}


@pytest.mark.parametrize("path", LISTS)
def test_every_row_comes_once_while_others_are_written(me: Caller, here: World, path: str) -> None:
    """Most rows have one time, so that the id alone keeps them in order."""
    table, time, add = LISTS[path]
    path = path.format(base=here.base_id)
    more = {"knowledgeBaseId": str(here.base_id)} if path in ("/quizzes", "/flashcards") else {}
    while _count(table) < ROWS:
        add(me, here)
    _write(f"UPDATE {table} SET {time} = %(time)s", time=SAME_TIME)
    _write(
        f"UPDATE {table} SET {time} = %(time)s::timestamptz - interval '1 second' "
        f"WHERE id = (SELECT max(id::text)::uuid FROM {table})",
        time=SAME_TIME,
    )
    expected = _ids(table, time)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        asked = {**more, "limit": "2"} | ({} if cursor is None else {"cursor": cursor})
        page = me.get(path, **asked).json
        assert len(page["items"]) <= 2
        seen += [item.get("id") or item["jobId"] for item in page["items"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
        add(me, here)
    assert seen == expected
    assert len(me.pages(path, **more, limit=100)) == _count(table) > ROWS


def test_a_page_has_twenty_rows_unless_told_otherwise(me: Caller, here: World) -> None:
    assert me.get("/materials").json == {"items": [], "nextCursor": None}
    for _ in range(21):
        _add_material(me, here)
    first = me.get("/materials").json
    assert (len(first["items"]), first["nextCursor"] is None) == (20, False)
    rest = me.get("/materials", cursor=first["nextCursor"]).json
    assert (len(rest["items"]), rest["nextCursor"]) == (1, None)
    exact = me.get("/materials", limit="21").json
    assert (len(exact["items"]), exact["nextCursor"]) == (21, None)
    assert me.get("/materials", limit="100").json == exact


def test_a_row_that_goes_away_takes_no_other_with_it(me: Caller, here: World) -> None:
    for _ in range(5):
        _add_material(me, here)
    first = me.get("/materials", limit="2").json
    last = first["items"][-1]["id"]
    assert me.delete(f"/materials/{last}").status_code == 204
    rest = me.get("/materials", cursor=first["nextCursor"]).json["items"]
    assert len({item["id"] for item in [*first["items"], *rest]}) == 5


def test_a_filter_goes_on_over_the_pages(me: Caller, here: World) -> None:
    for number in range(6):
        here.create("quiz_generation" if number % 2 else "flashcard_generation")
    found = me.pages("/jobs", jobType="quiz_generation", limit="1")
    assert [job["jobType"] for job in found] == ["quiz_generation"] * 3


def test_rows_written_at_once_by_others_are_neither_doubled_nor_lost(
    me: Caller, here: World
) -> None:
    for _ in range(30):
        here.create()
    expected = _ids("ai_job", "created_at")
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            here.create()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        walks = [me.pages("/jobs", limit="3") for _ in range(3)]
    finally:
        over.set()
        writer.join()
    for walk in walks:
        ids = [job["jobId"] for job in walk]
        assert len(ids) == len(set(ids))
        assert ids[-30:] == expected


def _count(table: str) -> int:
    found = db.read(lambda: db.row(f"SELECT count(*) FROM {table}"))
    assert found is not None
    return int(found["count"])


def _ids(table: str, time: str) -> list[str]:
    """Newest first, by PostgreSQL's own order."""
    rows = db.read(lambda: db.rows(f"SELECT id FROM {table} ORDER BY {time} DESC, id DESC"))
    return [str(UUID(str(row["id"]))) for row in rows]
