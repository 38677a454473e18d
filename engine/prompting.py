"""Prompts from versioned templates. Whoever's words they are, source texts reach the model as data.

Invariant: what stands between the delimiters is JSON without a `<`, so no text in it can end it,
whatever it contains; the delimiters carry a nonce that the caller chose for this call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from aijobs.engine.chat import Message
from aijobs.engine.definition import JobDefinition

_BUILTIN = Path(__file__).parent / "prompts"
_NONCE = re.compile(r"[0-9a-f]{16,64}")
#: A faulty answer longer than this is cut: the model made the form wrong long before.
_MAX_FAULTY_CHARACTERS = 60_000


def render(
    definition: JobDefinition, snapshot: Mapping[str, Any], nonce: str
) -> tuple[Message, ...]:
    """The messages of a first call. `nonce`: 16 to 64 lower-case hex digits."""
    parameters = definition.parameters.model_validate(snapshot["parameters"])
    return _messages(
        _template(definition, f"{definition.prompt_key}/{definition.prompt_version}.j2"),
        nonce,
        snapshot=snapshot,
        count=definition.requested_count(parameters),
        language=_language(snapshot),
    )


def render_repair(
    definition: JobDefinition, faulty_text: str, problems: Sequence[str], nonce: str
) -> tuple[Message, ...]:
    """The messages of a repair round: what is wrong and the answer that it is wrong in.

    Nothing of the source is in it; for a blank answer send the first messages again instead.
    """
    return _messages(
        _template(definition, "repair/v1.j2"),
        nonce,
        schema=definition.output_schema(),
        problems=list(problems),
        faulty=faulty_text[:_MAX_FAULTY_CHARACTERS],
    )


def as_data(value: Any) -> str:
    r"""JSON in which `<` and `>` are written `\u003c` and `\u003e`, and so is half of a surrogate
    pair, which a model may have written and UTF-8 has no form for."""
    text = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def _messages(template: jinja2.Template, nonce: str, **values: Any) -> tuple[Message, ...]:
    if not _NONCE.fullmatch(nonce):
        raise ValueError("a prompt's nonce must be 16 to 64 lower-case hex digits")
    context = template.new_context({"nonce": nonce, **values})
    return (
        Message(role="system", content=_block(template, "system", context)),
        Message(role="user", content=_block(template, "user", context)),
    )


def _block(template: jinja2.Template, name: str, context: Any) -> str:
    return "".join(template.blocks[name](context)).strip()


def _template(definition: JobDefinition, name: str) -> jinja2.Template:
    return _environment(definition.prompt_folder).get_template(name)


@lru_cache(maxsize=8)
def _environment(folder: Path | None) -> jinja2.Environment:
    folders = [_BUILTIN] if folder is None else [folder, _BUILTIN]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # the output is a prompt, not a page; data goes through `as_data`
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["as_data"] = as_data
    return environment


def _language(snapshot: Mapping[str, Any]) -> str:
    locale = (snapshot.get("profile") or {}).get("locale")
    if isinstance(locale, str) and re.fullmatch(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*", locale):
        return f"the language with the code {locale}"
    return "the language of the study material"
