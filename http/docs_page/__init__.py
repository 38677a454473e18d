"""The OpenAPI document as one page for people: no script, nothing from elsewhere."""

from aijobs.http.docs_page.page import DocsPage, render

__all__ = ["DocsPage", "render"]
