"""Hot statements as functions: what a header declares, and what becomes of it."""

from __future__ import annotations

import pytest

from aijobs.models.sql import functions, load, texts
from aijobs.models.sql.functions import Function, declared

HEADER = "Why it is so. Function (id uuid, names text[]) returns setof ai_job"
STATEMENT = "SELECT * FROM ai_job WHERE id = %(id)s AND stage = ANY (%(names)s) OR id <> %(id)s"


def _made(header: str = HEADER, statement: str = STATEMENT) -> Function:
    made = declared("look", header, statement)
    assert made is not None
    return made


def test_a_header_that_declares_nothing_makes_no_function() -> None:
    assert declared("look", "Why it is so.", STATEMENT) is None
    assert functions.of("lapsed") is None
    assert load("lapsed") == texts.text("lapsed")


def test_a_declared_statement_is_called_with_typed_parameters_of_the_same_names() -> None:
    made = _made()
    assert made.call == f"SELECT * FROM {made.name}(%(id)s::uuid, %(names)s::text[])"
    assert "RETURN QUERY SELECT * FROM ai_job WHERE id = $1 AND stage = ANY ($2) OR id <> $1;" in (
        made.definition
    )


def test_what_returns_nothing_is_no_query() -> None:
    made = _made("Function (id uuid) returns void", "DELETE FROM ai_job WHERE id = %(id)s")
    assert "BEGIN\nDELETE FROM ai_job WHERE id = $1;\nEND" in made.definition


def test_a_percent_sign_reaches_the_function_single() -> None:
    made = _made(
        "Function (id uuid) returns void", "DELETE FROM t WHERE id = %(id)s AND a %% 2 = 0"
    )
    assert "a % 2 = 0" in made.definition


@pytest.mark.parametrize(
    ("header", "statement"),
    [
        (HEADER, f"{STATEMENT} "),
        (HEADER.replace("id uuid", "id text"), STATEMENT),
        (HEADER.replace("setof ai_job", "table (id uuid)"), STATEMENT),
    ],
    ids=["text", "parameter", "result"],
)
def test_whatever_changes_the_function_changes_its_name(header: str, statement: str) -> None:
    assert _made(header, statement).name != _made().name


def test_another_reason_leaves_the_name_as_it_is() -> None:
    assert _made(HEADER.replace("Why", "The reason why")).name == _made().name


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("Function (id uuid) returns void", r"look\.sql: parameters undeclared \['names'\]"),
        (HEADER.replace("(", "(more int, "), r"unused \['more'\]"),
    ],
)
def test_a_parameter_that_is_missing_or_too_many_is_named(header: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        declared("look", header, STATEMENT)


def test_every_declared_statement_has_a_name_of_its_own_that_postgresql_keeps_whole() -> None:
    names = [made.name for made in functions.every()]
    assert {"claim", "succeed"} <= {name.split("_")[1] for name in names}
    assert len(set(names)) == len(names)
    assert all(name.startswith(functions.PREFIX) and len(name) < 64 for name in names)


def test_no_declaration_is_overlooked() -> None:
    """A header that is not worded exactly so would leave a statement what it is."""
    named = [name for name in texts.names() if "Function" in texts.header(name)]
    assert len(functions.every()) == len(named)
