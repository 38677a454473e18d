"""The OpenAPI 3.1 document of the API, made from the models that validate and describe it."""

from aijobs.http.openapi.document import openapi_document

__all__ = ["openapi_document"]
