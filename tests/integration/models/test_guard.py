"""What the database refuses on its own, from a role that may only read and write rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import psycopg2
import pytest
from psycopg2 import errors

from aijobs.models.tables import AiJob
from tests.integration.models.edges import CONTRACT, nothing_changes
from tests.integration.models.states import ACTIVE, STATES, TERMINAL, job_in, running, sql
from tests.world import World

#: state -> columns that go with it, so that only the transition itself can be at fault.
_NO_LEASE = "locked_by = NULL, locked_at = NULL, lock_until = NULL"
_LEASE = (
    "locked_by = 'forger', locked_at = now(), lock_until = now() + interval '1 min', "
    "started_at = now(), finished_at = NULL"
)
_ENDED = f"{_NO_LEASE}, finished_at = now(), error_code = 'FORGED'"
FITTING = {
    "queued": f"{_NO_LEASE}, finished_at = NULL, cancel_requested_at = NULL",
    "locked": _LEASE,
    "running": _LEASE,
    "succeeded": _ENDED,
    "failed": _ENDED,
    "cancelled": _ENDED,
    "expired": f"{_NO_LEASE}, finished_at = NULL",
}

Refusal = tuple[str | None, str | None]


class Role:
    """An application role: it may select, insert, update and delete rows, and nothing else."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, text: str, **params: Any) -> int:
        """Execute and commit; the number of rows changed."""
        with self._connection, self._connection.cursor() as cursor:
            cursor.execute(text, params)
            return int(cursor.rowcount)

    def refused(self, text: str, **params: Any) -> Refusal:
        """The SQLSTATE and the constraint by which it is refused."""
        with pytest.raises(psycopg2.Error) as refusal:
            self.run(text, **params)
        return refusal.value.pgcode, refusal.value.diag.constraint_name

    def undone(self, text: str, **params: Any) -> Refusal | None:
        """Execute and roll back; None when it was allowed."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(text, params)
                assert cursor.rowcount == 1
        except psycopg2.Error as error:
            return error.pgcode, error.diag.constraint_name
        finally:
            self._connection.rollback()
        return None


@pytest.fixture(scope="module")
def role(module_world: World) -> Iterator[Role]:
    name = f"aijobs_app_{uuid4().hex[:12]}"
    with closing(psycopg2.connect(module_world.engine.settings.database_url)) as connection:
        with connection, connection.cursor() as cursor:
            cursor.execute(
                f"CREATE ROLE {name}; GRANT USAGE ON SCHEMA public TO {name};"
                f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name};"
                f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {name}; SET ROLE {name}"
            )
        yield Role(connection)
        with connection, connection.cursor() as cursor:
            cursor.execute(f"RESET ROLE; DROP OWNED BY {name}; DROP ROLE {name}")


def _forge(source: str, target: str) -> str:
    claims = source == "queued" and target in ACTIVE
    counted = "attempt_no = attempt_no + 1, " if claims else ""
    return (
        f"UPDATE ai_job SET lifecycle_status = '{target}', {counted}{FITTING[target]} "
        "WHERE id = %(id)s"
    )


def _is_listed(source: str, target: str) -> bool:
    return any(source in sources and target == end for sources, end in CONTRACT.values())


@pytest.mark.parametrize("source", STATES)
def test_a_status_changes_along_the_list_alone(here: World, role: Role, source: str) -> None:
    job_id = job_in(here, source).job_id
    refusal = "ai_job_terminal_frozen" if source in TERMINAL else "ai_job_transition_listed"
    with nothing_changes():
        for target in set(STATES) - {source}:
            answer = role.undone(_forge(source, target), id=job_id)
            expected = None if _is_listed(source, target) else ("23514", refusal)
            assert answer == expected, target


def test_a_status_that_does_not_exist_is_refused(here: World, role: Role) -> None:
    job_id = here.create().id
    for word in ("cancel_requested", "QUEUED", ""):
        code, _ = role.refused(
            "UPDATE ai_job SET lifecycle_status = %(word)s WHERE id = %(id)s", id=job_id, word=word
        )
        assert code == "23514"


_INSERT = """
INSERT INTO ai_job
    (id, user_id, job_type, definition_version, target_type, target_id, queue_name, priority,
     request_hash, credential_mode, prompt_version, input_schema_version, output_schema_version,
     max_retry_count, timeout_seconds, attempt_no, lifecycle_status, locked_by, locked_at,
     lock_until, started_at, finished_at, error_code, cancel_requested_at, completed_at)
VALUES
    (%(id)s, %(id)s, 'quiz_generation', 1, 'user', %(id)s, 'ai-interactive', 50,
     '', 'platform_key', 'v1', '1', '1',
     3, 120, %(attempt_no)s, %(status)s, %(holder)s, %(leased)s,
     %(leased)s, %(leased)s, %(ended)s, 'FORGED', %(cancelled)s, %(completed)s)
"""


def _row(status: str, **more: Any) -> dict[str, Any]:
    leased, ended = status in ACTIVE, status in TERMINAL
    moment = "2026-01-01T00:00:00Z"
    row = {
        "id": str(uuid4()),
        "status": status,
        "attempt_no": 0,
        "holder": "forger" if leased else None,
        "leased": moment if leased else None,
        "ended": moment if ended else None,
        "cancelled": None,
        "completed": None,
    }
    return {**row, **more}


def test_a_queued_row_may_be_inserted(here: World, role: Role) -> None:
    assert role.run(_INSERT, **_row("queued")) == 1


@pytest.mark.parametrize("status", sorted(set(STATES) - {"queued"}))
def test_a_job_begins_queued(here: World, role: Role, status: str) -> None:
    with nothing_changes():
        assert role.refused(_INSERT, **_row(status)) == ("23514", "ai_job_begins_queued")


def test_a_job_begins_without_an_attempt_a_cancel_or_an_end(here: World, role: Role) -> None:
    moment = "2026-01-01T00:00:00Z"
    with nothing_changes():
        for more, rule in (
            ({"attempt_no": 1}, "ai_job_begins_queued"),
            ({"cancelled": moment}, "ai_job_queued_uncancelled"),
            ({"ended": moment}, "ai_job_finished"),
            ({"leased": moment, "holder": "forger"}, "ai_job_lease"),
            ({"completed": moment}, "ai_job_completed"),
        ):
            assert role.refused(_INSERT, **_row("queued", **more)) == ("23514", rule)


@pytest.mark.parametrize("state", sorted(set(STATES) - set(TERMINAL)))
@pytest.mark.parametrize("counter", ["attempt_no", "retry_count"])
def test_a_counter_never_shrinks(here: World, role: Role, counter: str, state: str) -> None:
    job_id = job_in(here, state).job_id
    shrunk = f"UPDATE ai_job SET {counter} = {counter} - 1 WHERE id = %(id)s"
    with nothing_changes():
        assert role.refused(shrunk, id=job_id) == ("23514", "ai_job_counters_grow")


@pytest.mark.parametrize("target", ["queued", "succeeded", "failed", "cancelled", "expired"])
def test_a_counter_does_not_shrink_along_an_edge_either(
    here: World, role: Role, target: str
) -> None:
    job_id = running(here).job_id
    forged = _forge("running", target).replace("SET ", "SET retry_count = -1, ")
    assert role.refused(forged, id=job_id) == ("23514", "ai_job_counters_grow")
    forged = _forge("running", target).replace("SET ", "SET attempt_no = 0, ")
    assert role.refused(forged, id=job_id) == ("23514", "ai_job_counters_grow")


def test_a_claim_begins_an_attempt_and_nothing_else_does(here: World, role: Role) -> None:
    active, queued = job_in(here, "expired").job_id, here.create().id
    rule = ("23514", "ai_job_attempt_per_claim")
    without = _forge("queued", "running").replace("attempt_no = attempt_no + 1, ", "")
    assert role.refused(without, id=queued) == rule
    grown = "UPDATE ai_job SET attempt_no = attempt_no + 1 WHERE id = %(id)s"
    assert role.refused(grown, id=active) == rule


def test_a_job_keeps_its_id(here: World, role: Role) -> None:
    job_id = here.create().id
    moved = "UPDATE ai_job SET id = %(other)s WHERE id = %(id)s"
    assert role.refused(moved, id=job_id, other=str(uuid4())) == ("23514", "ai_job_counters_grow")


#: Another value for every type of column.
_OTHER = {
    "uuid": f"'{uuid4()}'",
    "text": "'forged'",
    "jsonb": "'{\"forged\": 1}'",
    "integer": "99",
    "smallint": "99",
    "timestamp with time zone": "'2030-01-01'",
}


@pytest.mark.parametrize("state", TERMINAL)
def test_no_column_of_an_ended_job_changes(here: World, role: Role, state: str) -> None:
    job_id = job_in(here, state).job_id
    columns = sql(
        "SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute "
        "WHERE attrelid = 'ai_job'::regclass AND attnum > 0 AND NOT attisdropped "
        "AND attname NOT IN ('status', 'completed_at')"
    )
    assert len(columns) == len(AiJob._meta.fields) - 2
    with nothing_changes():
        for column in columns:
            forged = f"UPDATE ai_job SET {column['name']} = {_OTHER[column['type']]}"
            assert role.refused(f"{forged} WHERE id = %(id)s", id=job_id) == (
                "23514",
                "ai_job_terminal_frozen",
            ), column["name"]


@pytest.mark.parametrize("state", TERMINAL)
def test_an_ended_job_is_completed_once(here: World, role: Role, state: str) -> None:
    job_id = job_in(here, state).job_id
    complete = "UPDATE ai_job SET completed_at = now() WHERE id = %(id)s"
    assert role.run(complete, id=job_id) == 1
    frozen = ("23514", "ai_job_terminal_frozen")
    with nothing_changes():
        assert role.refused(complete, id=job_id) == frozen
        undone = "UPDATE ai_job SET completed_at = NULL WHERE id = %(id)s"
        assert role.refused(undone, id=job_id) == frozen


@pytest.mark.parametrize("state", sorted(set(STATES) - set(TERMINAL)))
def test_a_job_that_has_not_ended_is_not_completed(here: World, role: Role, state: str) -> None:
    job_id = job_in(here, state).job_id
    complete = "UPDATE ai_job SET completed_at = now() WHERE id = %(id)s"
    assert role.refused(complete, id=job_id) == ("23514", "ai_job_completed")


def test_a_queued_job_has_no_cancel_request(here: World, role: Role) -> None:
    queued = here.create().id
    ask = "UPDATE ai_job SET cancel_requested_at = now() WHERE id = %(id)s"
    assert role.refused(ask, id=queued) == ("23514", "ai_job_queued_uncancelled")


def test_a_job_whose_cancel_is_requested_is_not_queued_again(here: World, role: Role) -> None:
    active = running(here).job_id
    assert role.run("UPDATE ai_job SET cancel_requested_at = now() WHERE id = %(id)s", id=active)
    rewound = f"UPDATE ai_job SET lifecycle_status = 'queued', {_NO_LEASE} WHERE id = %(id)s"
    assert role.refused(rewound, id=active) == ("23514", "ai_job_queued_uncancelled")


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("lock_until = NULL, locked_by = NULL", "ai_job_lease"),
        ("locked_by = NULL", "ai_job_holder"),
        ("started_at = NULL", "ai_job_started"),
        ("finished_at = now()", "ai_job_finished"),
        ("priority = 101", "ai_job_priority_range"),
        ("progress = -1", "ai_job_progress_range"),
        ("lane = 'express'", "ai_job_lane_known"),
        ("internal_error_message = repeat('x', 4097)", "ai_job_internal_message_size"),
        (
            f"lifecycle_status = 'failed', {_NO_LEASE}, finished_at = now(), error_code = NULL",
            "ai_job_error",
        ),
    ],
)
def test_a_status_and_its_columns_belong_together(
    here: World, role: Role, change: str, rule: str
) -> None:
    job_id = running(here).job_id
    with nothing_changes():
        forged = f"UPDATE ai_job SET {change} WHERE id = %(id)s"
        assert role.refused(forged, id=job_id) == ("23514", rule)


def test_the_old_status_is_nobodys_to_write(here: World, role: Role) -> None:
    job_id = here.create().id
    with pytest.raises(errors.GeneratedAlways):
        role.run("UPDATE ai_job SET status = 'completed' WHERE id = %(id)s", id=job_id)


def test_rank_and_time_of_change_are_the_databases_own(here: World, role: Role) -> None:
    job_id = here.create().id
    role.run(
        "UPDATE ai_job SET rank_at = '2001-01-01', updated_at = '2001-01-01', priority = 70 "
        "WHERE id = %(id)s",
        id=job_id,
    )
    assert sql(
        "SELECT rank_at - available_at = interval '70 min' AS ranked, "
        "updated_at > now() - interval '1 min' AS fresh FROM ai_job"
    ) == [{"ranked": True, "fresh": True}]


def test_the_history_is_only_appended_to(here: World, role: Role) -> None:
    running(here)
    with nothing_changes():
        assert role.refused("UPDATE job_transition SET actor = 'forger'") == (
            "23514",
            "job_transition_append_only",
        )


@pytest.mark.parametrize(
    "bypass",
    [
        "SET session_replication_role = replica",
        "ALTER TABLE ai_job DISABLE TRIGGER ai_job_guard",
        "DROP TRIGGER ai_job_guard ON ai_job",
        "ALTER TABLE ai_job DROP CONSTRAINT ai_job_lease",
        "TRUNCATE job_transition",
    ],
)
def test_the_role_cannot_switch_the_guard_off(here: World, role: Role, bypass: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        role.run(bypass)


def test_a_key_is_one_jobs_and_a_retry_is_one_at_a_time(here: World, role: Role) -> None:
    first, second = here.create(idempotencyKey="k").id, here.create().id
    keyed = "UPDATE ai_job SET idempotency_key = 'k' WHERE id = %(id)s"
    assert role.refused(keyed, id=second) == ("23505", "ai_job_idempotency")
    retried = "UPDATE ai_job SET retried_from_job_id = %(of)s WHERE id = %(id)s"
    ended = UUID(int=1)
    assert role.run(retried, id=first, of=str(ended)) == 1
    assert role.refused(retried, id=second, of=str(ended)) == (
        "23505",
        "ai_job_unfinished_retry",
    )
    role.run(_forge("queued", "cancelled"), id=first)
    assert role.run(retried, id=second, of=str(ended)) == 1
