"""The page of the API: complete, harmless, and all in one file."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.http.docs_page import render
from aijobs.http.docs_page.tables import Tables
from aijobs.http.docs_page.words import kind_of, limits_of
from aijobs.http.openapi import openapi_document

DOCUMENT = openapi_document(Registry(BUILTIN))
PAGE = render(DOCUMENT)
VOID = {"meta", "link", "br", "hr", "img", "input"}


class _Reader(HTMLParser):
    """Tags, attributes and text of a page; fails where tags do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


READ = _Reader(PAGE.html)


def test_every_operation_is_shown_with_method_path_and_codes() -> None:
    ids = {attributes.get("id") for _, attributes in READ.tags}
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            assert operation["operationId"] in ids
            assert f"{method.upper()} {path}" in READ.text
            assert operation["summary"] in READ.text
    for problem in DOCUMENT["x-problems"]:
        assert problem["code"] in READ.text
        assert problem["title"] in READ.text


def test_every_link_leads_somewhere() -> None:
    ids = [attributes["id"] for _, attributes in READ.tags if "id" in attributes]
    links = {attributes["href"] for tag, attributes in READ.tags if tag == "a"}
    assert len(ids) == len(set(ids))
    assert links - {"/openapi.json"} <= {f"#{one}" for one in ids}


def test_it_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    assert not {tag for tag, _ in READ.tags} & {"script", "link", "img", "iframe", "object", "base"}
    names = {name for _, attributes in READ.tags for name in attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"style", "src"})
    assert "url(" not in PAGE.html and "@import" not in PAGE.html
    assert "http://" not in PAGE.html and "https://" not in READ.text.replace(
        "https://api.deepseek.com", ""
    )


def test_the_policy_allows_the_stylesheet_of_the_page_alone() -> None:
    [style] = re.findall(r"<style>(.*?)</style>", PAGE.html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = dict(part.strip().split(" ", 1) for part in PAGE.policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["style-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in PAGE.policy


def test_what_a_definition_says_is_text_and_never_markup() -> None:
    hostile = "</p><script>alert(1)</script> `<b>` & \"'"
    document: dict[str, Any] = {**DOCUMENT, "x-job-types": []}
    document["x-job-types"] = [{**DOCUMENT["x-job-types"][0], "description": hostile}]
    document["tags"] = [{**tag, "description": hostile} for tag in DOCUMENT["tags"]]
    html = render(document).html
    assert "<script" not in html and "<b>" not in html
    read = _Reader(html)
    assert "</p><script>alert(1)</script> <b> & \"'" in read.text


def test_nested_fields_are_rows_with_their_path() -> None:
    table = Tables(DOCUMENT).of({"$ref": "#/components/schemas/PointsBody"})
    shown = {row.name: row for row in table.rows}
    assert list(shown) == ["points", "points[].title", "points[].body", "points[].tags"]
    assert shown["points"].kind == "list of object"
    assert shown["points"].limits == ("1 to 500 items",)
    assert shown["points[].title"].required and not shown["points[].tags"].required


def test_kinds_of_artifacts_have_tables_of_their_own() -> None:
    table = Tables(DOCUMENT).of({"$ref": "#/components/schemas/Result"})
    assert [row.name for row in table.rows][-1] == "artifacts"
    assert "quiz_question_candidate" in [variant.name for variant in table.variants]


_CHOICE = {"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]}
_SHORT_WORDS = {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2}


@pytest.mark.parametrize(
    ("schema", "kind", "limits", "choices"),
    [
        ({"type": "string", "format": "uuid"}, "UUID", [], []),
        (
            {"type": "integer", "minimum": 1, "default": 5},
            "whole number",
            ["at least 1", "default 5"],
            [],
        ),
        (
            {"type": ["string", "null"], "maxLength": 9},
            "string or null",
            ["up to 9 characters"],
            [],
        ),
        (_CHOICE, "string or null", [], ["a", "b"]),
        (_SHORT_WORDS, "list of string", ["up to 2 items", "up to 3 characters each"], []),
        ({"type": "boolean", "default": False}, "true or false", ["default false"], []),
        ({"type": "string", "const": "x"}, "string", [], ["x"]),
    ],
)
def test_a_schema_in_words(
    schema: dict[str, Any], kind: str, limits: list[str], choices: list[str]
) -> None:
    assert kind_of(schema, lambda part: part) == kind
    assert limits_of(schema) == (tuple(limits), tuple(choices))
