"""The page and the header that lets a browser show it and nothing else.

Invariant: the stylesheet in the page is the only thing that its Content-Security-Policy allows, by
hash; every text is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from aijobs.http.docs_page.tables import Tables

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class DocsPage:
    """HTML and the Content-Security-Policy that goes with it."""

    html: str
    policy: str


def render(document: dict[str, Any]) -> DocsPage:
    """The page of an OpenAPI document of ours."""
    style = (_FOLDER / "docs.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    html = (
        _environment()
        .get_template("docs.html.j2")
        .render(
            document=document,
            groups=_groups(document),
            tables=Tables(document),
            style=Markup(style),
        )
    )
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    return DocsPage(html, f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def _groups(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The tags, each with its operations in the order of the document."""
    operations = [
        {"path": path, "method": method.upper(), **operation}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return [
        {**tag, "operations": [item for item in operations if tag["name"] in item["tags"]]}
        for tag in document["tags"]
    ]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(prose=_prose, pretty=_pretty, anchor=_anchor)
    return environment


def _prose(text: str) -> Markup:
    """A sentence in which `this` is code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _pretty(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _anchor(text: str) -> str:
    return text.lower().replace(" ", "-").replace("_", "-")
