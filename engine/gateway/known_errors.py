"""What providers' error codes and messages mean, read from the dated data file beside this module.

Invariant: a message counts as a whole; a sentence of ours that an error quotes decides nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from aijobs.engine.gateway.error_body import ErrorBody

DATA_FILE = "messages_2026_11.toml"
_MODEL_NAMES = r"[\w ./:,@-]{1,2000}"


def class_of_code(error: ErrorBody) -> str | None:
    """The error class that an error's code or type stands for."""
    return next((known for code in error.codes if (known := _codes().get(code))), None)


def class_of_message(error: ErrorBody, model: str) -> str | None:
    """The error class that a 400's message stands for, when `model` was asked for."""
    message = error.message.strip()
    for template, error_class in _messages().items():
        if re.fullmatch(_pattern(template, model), message, re.IGNORECASE):
            return error_class
    return None


def _pattern(template: str, model: str) -> str:
    pattern = re.escape(template)
    pattern = pattern.replace(re.escape("{models}"), _MODEL_NAMES)
    return pattern.replace(re.escape("{model}"), re.escape(model))


@cache
def _codes() -> Mapping[str, str]:
    return _by_text("codes")


@cache
def _messages() -> Mapping[str, str]:
    return _by_text("messages")


def _by_text(table: str) -> Mapping[str, str]:
    data = tomllib.loads(files(__package__).joinpath(DATA_FILE).read_text(encoding="utf-8"))
    return {text: name for name, texts in data[table].items() for text in texts}
