"""`aijobs explain-output`: why an answer was accepted, repaired or rejected."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from aijobs.engine.explain import Unexplainable, explain
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import UnknownJobType, builtin_registry


@click.command("explain-output")
@click.option(
    "--job-type",
    required=True,
    help=f"What the answer is to: {', '.join(item.job_type for item in BUILTIN)}.",
)
@click.option(
    "--finish-reason",
    required=True,
    help="The provider's finish_reason; `none` when it sent none.",
)
@click.option("--params", help='JSON: {"requested_count": 5, "refs": ["k1", "k2"]}.')
@click.option(
    "--envelope",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the provider's message object; its content replaces standard input.",
)
def explain_output(
    job_type: str, finish_reason: str, params: str | None, envelope: Path | None
) -> None:
    """Say what the engine makes of a model's raw answer.

    Reads the answer from standard input and prints JSON: outcome (accept, repair or reject),
    value, code, retryable, and the steps that were taken, each with what it repaired or found.
    """
    try:
        told = explain(
            builtin_registry().get(job_type),
            _standard_input(),
            finish_reason=None if finish_reason.lower() in ("none", "null", "") else finish_reason,
            params=params,
            envelope=None if envelope is None else envelope.read_text(encoding="utf-8"),
        )
    except (UnknownJobType, Unexplainable, UnicodeDecodeError) as error:
        click.echo(f"aijobs: {error}", err=True)
        sys.exit(2)
    click.echo(json.dumps(told, ensure_ascii=False, indent=2))


def _standard_input() -> str:
    """All of it, byte by byte as UTF-8: no line ends are changed. An envelope needs none.

    What is no UTF-8 becomes halves of surrogate pairs, which no answer may hold.
    """
    return "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode(errors="surrogateescape")
