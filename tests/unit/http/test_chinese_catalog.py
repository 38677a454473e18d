"""The catalog and the code: each sentence that can be said has its Chinese, and none is left over.

The sentences are found in the source, what pydantic may say in the schemas of the request bodies.
Types do the rest: a refusal takes nothing but a Sentence.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from pydantic import BaseModel

from aijobs.engine.registry import builtin_registry
from aijobs.engine.request import JobRequest
from aijobs.http.chinese import catalog
from aijobs.http.openapi.document import GROUPS

ROOT = Path(__file__).parents[3]
SOURCES = [path for top in ("engine", "http") for path in sorted((ROOT / top).rglob("*.py"))]
CHINESE = re.compile("[\u4e00-\u9fff]")
#: Where a library's words may become sentences: where it is defined, pydantic's, Falcon's.
QUOTING = ["engine/sentence.py", "engine/validation.py", "http/problems.py"]


def _calls(source: str, *names: str) -> list[ast.Call]:
    """The calls of these, as `Name(...)` or `module.Name(...)`, in order."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call for call in calls if ast.unparse(call.func).split(".")[-1] in names]


def _sentences(source: str) -> dict[str, set[str]]:
    """Template -> the facts that are given. Raises ValueError for one that cannot be found so."""
    found = {}
    for call in _calls(source, "Sentence"):
        match call.args:
            case [ast.Constant(value=str(template))]:
                pass
            case _:
                raise ValueError(f"not a literal: {ast.unparse(call)}")
        facts = [keyword.arg for keyword in call.keywords]
        if None in facts:
            raise ValueError(f"facts without a name: {ast.unparse(call)}")
        found[template] = {str(fact) for fact in facts}
    return found


def _placeholders(template: str) -> set[str]:
    """Their names. Raises ValueError for one with a format or an attribute."""
    found = set()
    for _, name, form, conversion in Formatter().parse(template):
        if name is not None:
            if not name.isidentifier() or form or conversion:
                raise ValueError(template)
            found.add(name)
    return found


@pytest.fixture(scope="module")
def said() -> dict[str, set[str]]:
    """Every template of the code, and its facts."""
    found: dict[str, set[str]] = {}
    for path in SOURCES:
        found |= _sentences(path.read_text(encoding="utf-8"))
    assert len(found) > 100
    return found


def test_every_sentence_is_given_the_facts_that_it_names(said: dict[str, set[str]]) -> None:
    assert {template: _placeholders(template) for template in said} == said


def test_every_sentence_has_a_translation_and_every_translation_a_sentence(
    said: dict[str, set[str]],
) -> None:
    assert set(said) == set(catalog()["sentences"])


@pytest.mark.parametrize("section", ["sentences", "falcon"])
def test_a_translation_has_the_facts_of_its_sentence(section: str) -> None:
    for english, chinese in catalog()[section].items():
        assert _placeholders(chinese) == _placeholders(english), english


def test_a_translation_is_chinese() -> None:
    """Full-width marks, a full stop where the English has one, and a space beside each fact that
    is a word or a number.
    """
    bare = {"{field} {message}."}  # all of it facts
    for section in catalog().values():
        for english, chinese in section.items():
            assert CHINESE.search(chinese) or english in bare, english
            assert not re.search(r"[\u4e00-\u9fff][,.:;?!()]", chinese), chinese
            assert not re.search(r"[\u4e00-\u9fff]\{|\}[\u4e00-\u9fff]", chinese), chinese
            if english in catalog()["sentences"]:
                is_whole = english.endswith((".", ": {problem}"))
                assert chinese.endswith(("。", "：{problem}")) is is_whole, english


def test_nothing_is_in_two_sections() -> None:
    names = [name for section in catalog().values() for name in section]
    assert len(names) == len(set(names))


def test_a_librarys_words_become_sentences_in_two_places_alone() -> None:
    quoting = [path for path in SOURCES if _calls(path.read_text(encoding="utf-8"), "quoting")]
    assert [str(path.relative_to(ROOT)) for path in quoting] == QUOTING


@pytest.mark.parametrize(
    "source",
    ['Sentence(f"At most {limit}.")', "Sentence(text)", 'Sentence("{a}", **facts)', "Sentence()"],
)
def test_a_sentence_that_hides_its_template_is_found(source: str) -> None:
    with pytest.raises(ValueError):
        _sentences(source)


def test_a_sentence_is_found_however_it_is_written() -> None:
    source = 'def f():\n    return sentence.Sentence("a {b} "\n        "c", b=Sentence("d"))\n'
    assert _sentences(source) == {"a {b} c": {"b"}, "d": set()}


#: Kind of schema -> what pydantic may say of a value for it, whatever its constraints.
KINDS: dict[str, set[str]] = {
    "any": set(),
    "bool": {"bool_type"},
    "datetime": set(),  # its validator has made one before, or raised
    "default": set(),
    "dict": {"dict_type"},
    "float": {"float_type", "finite_number"},
    "function-after": set(),
    "function-before": set(),
    "int": {"int_type"},
    "is-instance": set(),  # of a secret: the text that it may be instead is told
    "json-or-python": set(),
    "lax-or-strict": set(),
    "list": {"list_type"},
    "literal": {"literal_error"},
    "model": {"model_type"},
    "model-field": set(),
    "model-fields": {"missing"},
    "nullable": set(),
    "str": {"string_type", "string_unicode"},
    "union": set(),  # of a secret
    "uuid": {"uuid_type", "uuid_parsing"},
}
#: Kind of schema and constraint -> what pydantic says; None where the words are ours.
CONSTRAINTS: dict[tuple[str, str], str | None] = {
    ("float", "ge"): "greater_than_equal",
    ("float", "le"): "less_than_equal",
    ("int", "ge"): "greater_than_equal",
    ("int", "le"): "less_than_equal",
    ("list", "max_length"): "too_long",
    ("list", "min_length"): "too_short",
    ("str", "max_length"): "string_too_long",
    ("str", "min_length"): "string_too_short",
    ("str", "pattern"): None,
}
#: What a schema of one of these kinds holds besides its constraints.
NO_CONSTRAINT = {
    *("type", "metadata", "strict", "ref", "strip_whitespace", "allow_inf_nan"),
    *("items_schema", "keys_schema", "values_schema", "serialization"),
}


def _bodies() -> Iterator[type[BaseModel]]:
    """Every model that a request's body is validated by."""
    yield JobRequest
    yield from (definition.parameters for definition in builtin_registry())
    for group in GROUPS:
        for operation in group.operations:
            if isinstance(operation.body, type) and issubclass(operation.body, BaseModel):
                yield operation.body


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a core schema, those of what goes out left aside."""
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), str) and schema["type"] not in ("no-info", "with-info"):
            yield schema
        for name, inner in schema.items():
            if name not in ("metadata", "serialization", "config"):
                yield from _nodes(inner)
    elif isinstance(schema, list | tuple):
        for inner in schema:
            yield from _nodes(inner)


def _told_of(node: dict[str, Any]) -> set[str]:
    """What pydantic may say where this schema stands. Raises KeyError for an unknown kind."""
    kind = node["type"]
    found = set(KINDS[kind])
    if kind in ("int", "float", "str", "list", "dict"):
        constraints = {CONSTRAINTS[kind, name] for name in set(node) - NO_CONSTRAINT}
        found |= {name for name in constraints if name is not None}
    if node.get("config", {}).get("extra_fields_behavior") == "forbid":
        found.add("extra_forbidden")
    return found


def test_whatever_pydantic_may_say_of_a_body_has_a_translation_and_nothing_else_has() -> None:
    """A field of a new kind fails here until its errors are translated."""
    bodies = list(_bodies())
    assert len(bodies) > 15
    nodes = [node for body in bodies for node in _nodes(body.__pydantic_core_schema__)]
    assert set().union(*map(_told_of, nodes)) == set(catalog()["pydantic"])


def _validators() -> set[Callable[..., Any]]:
    nodes = (node for body in _bodies() for node in _nodes(body.__pydantic_core_schema__))
    functions = (node["function"]["function"] for node in nodes if "function" in node)
    return {function for function in functions if inspect.isfunction(function)}


def test_a_validator_of_a_body_says_its_fault_as_a_sentence() -> None:
    """A ValueError with a text of its own would be told in English alone."""
    validators = _validators()
    assert len(validators) > 3
    for validator in validators:
        source = textwrap.dedent(inspect.getsource(validator))
        assert _calls(source, "Unfit"), validator
        assert not _calls(source, "ValueError", "AssertionError"), validator
