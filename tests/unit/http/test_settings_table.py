"""docs/settings.md and `aijobs settings` say what engine/settings.py declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from aijobs.engine.setting_names import variable
from aijobs.engine.settings import Settings
from aijobs.http.settings_table import settings_table
from aijobs.http.tokens import USER_NAMESPACE

DOCUMENT = (Path(__file__).parents[3] / "docs" / "settings.md").read_text()


def test_the_document_holds_the_table_as_it_is_printed() -> None:
    assert f"\n\n{settings_table()}\n\n" in DOCUMENT, "paste what `aijobs settings` prints"


@pytest.mark.parametrize("field", Settings.model_fields)
def test_every_setting_has_one_row_with_a_meaning(field: str) -> None:
    rows = [
        row for row in settings_table().splitlines() if f"`{variable(field)}`" in row.split("|")[1]
    ]
    assert len(rows) == 1
    assert (
        rows[0].rstrip("| ").rsplit("|", 1)[1].strip() == Settings.model_fields[field].description
    )


def test_rows_name_kind_and_default() -> None:
    table = settings_table()
    assert "| `DATABASE_URL` | text | required |" in table
    assert "| `AIJOBS_MODE` | `development` or `production` | `development` |" in table
    assert "| `AIJOBS_JWT_SECRET` | secret | a public one, for development |" in table


def test_no_default_secret_is_printed() -> None:
    for field in ("jwt_secret", "runtime_service_token"):
        assert Settings.model_fields[field].default.get_secret_value() not in settings_table()


def test_the_namespace_of_user_names_is_documented() -> None:
    assert str(USER_NAMESPACE) in DOCUMENT
