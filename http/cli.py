"""The `aijobs` command: one stack on this machine, and the chores of any other.

What is wrong with the settings is said in one line each on stderr, with exit status 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click

from aijobs.engine.settings import Settings, SettingsError
from aijobs.http import tokens
from aijobs.http.embedded import env_file
from aijobs.http.explain import explain_output
from aijobs.http.settings_table import settings_table
from aijobs.http.version import current_version

if TYPE_CHECKING:
    from aijobs.engine.vault import Vault

C = TypeVar("C", bound=Callable[..., None])

_CANNOT = 1
_BAD_SETTINGS = 2


def _on_any_stack(command: C) -> C:
    """Add `--env`, as the mapping that the environment and the file make together."""
    return click.option(
        "--env",
        "environ",
        metavar="FILE",
        callback=_environment,
        help="Env file of the stack to work on, as `aijobs dev` writes it; beats the environment.",
    )(command)


def _environment(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Mapping[str, str]:
    if value is None:
        return os.environ
    try:
        return {**os.environ, **env_file.read(Path(value))}
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error)) from None


class _InOrder(click.Group):
    """Lists its commands in the order of their use, as they stand in this module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(current_version(), message="aijobs %(version)s")
def main() -> None:
    """Durable AI jobs: a user asks, a model is paid, and the answer arrives once."""


@main.command()
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".aijobs"),
    show_default=True,
    help="Where the stack keeps its databases, logs, secrets and env file.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The API's port on 127.0.0.1; 0 takes a free one.",
)
@_on_any_stack
def dev(data: Path, port: int, environ: Mapping[str, str]) -> None:
    """Run everything on this machine until Ctrl-C.

    That is databases, API, workers and scheduler. DATABASE_URL or REDIS_URL, when set, replace
    the embedded server.
    """
    from aijobs.http.embedded.stack import StartFailed, run

    try:
        run(data, port, environ, _say)
    except SettingsError as error:
        _refuse(error)
    except StartFailed as error:
        _fail(str(error))


@main.command()
@_on_any_stack
def migrate(environ: Mapping[str, str]) -> None:
    """Bring the database to the newest schema.

    Run twice, it does nothing the second time.
    """
    settings = _settings(environ)
    from aijobs.models.migrate import run

    try:
        applied = run(settings.database_direct_url or settings.database_url)
    except Exception as error:  # whatever the database says, all of it was rolled back
        _fail(f"nothing was migrated: {str(error).strip()}")
    for name in applied:
        click.echo(f"applied {name}")
    click.echo("the schema is up to date")


@main.command()
@click.option("--user", required=True, help="A UUID, or a name: each name has one UUID for ever.")
@click.option(
    "--role",
    type=click.Choice(tokens.ROLES),
    default="USER",
    show_default=True,
    help="What the token allows: ADMIN reads the admin API, SUPER_ADMIN changes things too.",
)
@click.option(
    "--ttl",
    type=click.IntRange(min=1),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="How long the token is good for.",
)
@_on_any_stack
def token(user: str, role: tokens.Role, ttl: int, environ: Mapping[str, str]) -> None:
    """Print a JWT for a user or an admin.

    It goes into the header of a request: Authorization: Bearer TOKEN.
    """
    try:
        click.echo(tokens.issue(_settings(environ), tokens.user_id_of(user), role, ttl))
    except tokens.CannotIssue as error:
        _fail(str(error))


@main.command()
def settings() -> None:
    """Print every setting with its kind, default and meaning."""
    click.echo(settings_table())


@main.group(cls=_InOrder)
def credentials() -> None:
    """Users' own keys, and the master keys that seal them."""


@credentials.command()
@_on_any_stack
def rotate(environ: Mapping[str, str]) -> None:
    """Seal every stored key with the first master key.

    That is the first of AIJOBS_MASTER_KEYS. All keys are sealed anew, or none.
    """
    with _vault(_settings(environ)) as vault:
        from aijobs.engine import key_rotation

        count = key_rotation.rotate(vault)
    click.echo(f"{count} keys are sealed anew with {vault.sealing_key_id}")


@credentials.command()
@_on_any_stack
def check(environ: Mapping[str, str]) -> None:
    """Name every stored key that no master key opens.

    Exits with status 1 when there is one.
    """
    with _vault(_settings(environ)) as vault:
        from aijobs.engine import key_rotation

        problems = key_rotation.unreadable(vault)
    if problems:
        _fail("\naijobs: ".join(problems.values()))
    click.echo("every stored key can be opened")


@main.command()
@_on_any_stack
def doctor(environ: Mapping[str, str]) -> None:
    """Check the invariants of a stack.

    Prints each with its count of violations; the exit status is 1 unless all are 0.
    """
    settings = _settings(environ)
    with _database(settings):
        from aijobs.engine.limits import platform_budget
        from aijobs.models.doctor import examine

        findings = examine(platform_budget(settings), missed_seconds=settings.missed_seconds)
    for finding in findings:
        click.echo(f"{finding.violations:>6}  {finding.name:<28} {finding.meaning}")
    if broken := sum(bool(finding.violations) for finding in findings):
        _fail(f"{broken} of {len(findings)} invariants are broken")


main.add_command(explain_output)


@contextmanager
def _vault(settings: Settings) -> Iterator[Vault]:
    """The vault of a stack and its database; what goes wrong with either is said in one line."""
    from aijobs.engine.vault import VaultClosed, vault_of

    with _database(settings):
        try:
            yield vault_of(settings)
        except VaultClosed as problem:
            _fail(f"nothing was changed: {problem}")


@contextmanager
def _database(settings: Settings) -> Iterator[None]:
    """The database of a stack; whatever it says is said in one line."""
    from aijobs.models import database as db

    db.connect_to(settings.database_url, connections=1)
    try:
        yield
    except Exception as error:
        _fail(f"nothing was changed: {str(error).strip()}")
    finally:
        db.disconnect()


def _settings(environ: Mapping[str, str]) -> Settings:
    try:
        return Settings.from_env(environ)
    except SettingsError as error:
        _refuse(error)


def _refuse(error: SettingsError) -> NoReturn:
    for problem in error.problems:
        click.echo(f"aijobs: {problem}", err=True)
    raise SystemExit(_BAD_SETTINGS)


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone while the stack is being stopped
        click.echo(line)


def _fail(reason: str) -> NoReturn:
    click.echo(f"aijobs: {reason}", err=True)
    raise SystemExit(_CANNOT)


if __name__ == "__main__":
    main()
