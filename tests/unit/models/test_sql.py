"""The statements: each file says why, is used, and is whole once its fragments are filled in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aijobs.models import sql
from aijobs.models.sql import load, texts

FILES = sorted(path.stem for path in Path(sql.__file__).parent.glob("*.sql"))
MODELS = Path(sql.__file__).parents[1]


@pytest.mark.parametrize("name", FILES)
def test_a_statement_opens_with_its_reason(name: str) -> None:
    first = (MODELS / "sql" / f"{name}.sql").read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r"-- [A-Z]", first)


@pytest.mark.parametrize("name", FILES)
def test_a_statement_is_whole(name: str) -> None:
    statement = texts.text(name)
    assert statement
    assert "{{" not in statement and "--" not in statement
    assert statement.count("(") == statement.count(")")


def test_every_file_is_loaded_by_the_code_or_by_another() -> None:
    code = [path.read_text(encoding="utf-8") for path in MODELS.rglob("*.py")]
    files = [path.read_text(encoding="utf-8") for path in (MODELS / "sql").glob("*.sql")]
    loaded = set(re.findall(r'load\("(\w+)"\)', "\n".join(code)))
    loaded |= set(re.findall(r"\{\{(\w+)\}\}", "\n".join(files)))
    assert loaded == set(FILES)


def test_a_statement_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        load("no_such_statement")


def test_a_claimable_job_is_defined_once() -> None:
    using = {
        path.stem
        for path in (MODELS / "sql").glob("*.sql")
        if "{{claimable}}" in path.read_text(encoding="utf-8")
    }
    assert {"claim", "sweep_hints", "waiting"} <= using
