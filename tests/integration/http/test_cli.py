"""The command line: what it prints, and how it refuses."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from click.testing import CliRunner, Result

from aijobs.engine.settings import Settings
from aijobs.http.cli import main
from aijobs.http.embedded import env_file
from aijobs.http.settings_table import settings_table
from aijobs.http.tokens import InvalidToken, Verifier, user_id_of

ENVIRON = {
    "DATABASE_URL": "postgresql:///nowhere",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "AIJOBS_JWT_SECRET": "the-secret-of-this-stack-which-is-32-bytes-or-more",
}


@pytest.fixture(autouse=True)
def _no_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields:
        for name in (f"AIJOBS_{field.upper()}", field.upper()):
            monkeypatch.delenv(name, raising=False)


def run(*words: str, **environ: str) -> Result:
    return CliRunner().invoke(main, words, env=environ)


def test_the_version_is_that_of_the_package() -> None:
    setup = (Path(__file__).parents[3] / "setup.cfg").read_text()
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("aijobs ")
    assert f"\nversion = {result.stdout.split()[1]}\n" in setup


def test_settings_needs_no_environment() -> None:
    assert run("settings").stdout == settings_table() + "\n"


def test_a_token_is_for_the_stack_of_the_environment() -> None:
    result = run("token", "--user", "demo", "--role", "ADMIN", **ENVIRON)
    identity = Verifier(Settings.from_env(ENVIRON)).verify(result.stdout.strip())
    assert (identity.user_id, identity.role) == (user_id_of("demo"), "ADMIN")


def test_an_env_file_wins_over_the_environment(tmp_path: Path) -> None:
    other = {
        **ENVIRON,
        "AIJOBS_JWT_SECRET": "another-secret, with a 'quote' and $dollars, 32 bytes",
    }
    env_file.write(tmp_path / "env", other)
    result = run("token", "--user", "demo", "--env", str(tmp_path / "env"), **ENVIRON)
    token = result.stdout.strip()
    assert Verifier(Settings.from_env(other)).verify(token).user_id == user_id_of("demo")
    with pytest.raises(InvalidToken):
        Verifier(Settings.from_env(ENVIRON)).verify(token)


@pytest.mark.parametrize("words", [("migrate",), ("token", "--user", "demo")])
def test_all_problems_of_the_settings_are_told_in_a_line_each(words: tuple[str, ...]) -> None:
    result = run(*words, AIJOBS_MODE="productive", AIJOBS_OUTBOX_BATCH="many")
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert [line.split()[1] for line in lines] == [
        "DATABASE_URL",
        "REDIS_URL",
        "AIJOBS_MODE",
        "AIJOBS_OUTBOX_BATCH",
    ]


def test_a_database_that_is_away_is_told_without_a_traceback(tmp_path: Path) -> None:
    away = {**ENVIRON, "DATABASE_URL": f"postgresql://postgres:@/postgres?host={tmp_path}"}
    result = run("migrate", **away)
    assert result.exit_code == 1
    assert result.stderr.startswith("aijobs: nothing was migrated: ")
    assert "Traceback" not in result.stderr


def test_the_doctor_says_what_is_broken_by_its_exit_status_too(database_url: str) -> None:
    stack = {**ENVIRON, "DATABASE_URL": database_url}
    healthy = run("doctor", **stack)
    assert (healthy.exit_code, healthy.stderr) == (0, "")
    lines = healthy.stdout.splitlines()
    assert len(lines) > 10
    assert {line.split()[0] for line in lines} == {"0"}
    with closing(psycopg2.connect(database_url)) as connection, connection:
        connection.cursor().execute(
            "INSERT INTO platform_usage_daily (utc_date, tokens_used) VALUES (current_date, 5)"
        )
    broken = run("doctor", **stack)
    assert broken.exit_code == 1
    assert broken.stderr == f"aijobs: 1 of {len(lines)} invariants are broken\n"
    assert [line.split()[:2] for line in broken.stdout.splitlines() if line.split()[0] != "0"] == [
        ["1", "ledger_used_differs"]
    ]


def test_a_doctor_without_a_database_says_so(tmp_path: Path) -> None:
    away = {**ENVIRON, "DATABASE_URL": f"postgresql://postgres:@/postgres?host={tmp_path}"}
    result = run("doctor", **away)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("aijobs: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("token", "--user", "demo", "--role", "ROOT"),
        ("token", "--user", "demo", "--ttl", "0"),
        ("token",),
        ("dev", "--port", "70000"),
        ("token", "--user", "demo", "--env", "/does/not/exist"),
    ],
)
def test_wrong_arguments_are_refused(words: tuple[str, ...]) -> None:
    result = run(*words, **ENVIRON)
    assert result.exit_code == 2
    assert result.stdout == ""
