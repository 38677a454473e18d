"""The help pages of `aijobs`: every command and every option says what it is for."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from aijobs.http.cli import main


def _walk(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below a group by its words."""
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _walk(command, f"{path} {name}")


COMMANDS = dict([("aijobs", main), *_walk(main, "aijobs")])
OPTIONS = [(path, option) for path, command in COMMANDS.items() for option in command.params]


def _help(path: str) -> str:
    result = CliRunner().invoke(main, [*path.split()[1:], "-h"], prog_name="aijobs")
    assert result.exit_code == 0
    return result.stdout


def _listed(path: str) -> dict[str, str]:
    """What a group's page says of each of its commands."""
    lines = _help(path).partition("Commands:\n")[2].splitlines()
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line}


def test_commands_are_listed_in_the_order_of_their_use() -> None:
    assert list(_listed("aijobs"))[:4] == ["dev", "migrate", "token", "settings"]


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_a_page_of_help(path: str) -> None:
    page = _help(path)
    assert page.startswith(f"Usage: {path} [OPTIONS]")
    assert COMMANDS[path].help


@pytest.mark.parametrize("path", [p for p, c in COMMANDS.items() if isinstance(c, click.Group)])
def test_every_command_is_told_in_a_line_that_fits(path: str) -> None:
    group = COMMANDS[path]
    assert isinstance(group, click.Group)
    listed = _listed(path)
    assert set(listed) == set(group.commands)
    for sentence in listed.values():
        assert sentence.endswith(".") and not sentence.endswith("...")


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=lambda one: getattr(one, "name", one))
def test_every_option_says_what_it_is_for(path: str, option: click.Parameter) -> None:
    assert isinstance(option, click.Option), "an argument has no help: make it an option"
    assert option.help and option.help.endswith(".")
