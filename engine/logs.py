"""Structured logs: JSON in production, readable lines in development; never an input, output or
key.
"""

from __future__ import annotations

import logging
import sys

import structlog

from aijobs.engine.settings import Settings


def configure(settings: Settings) -> None:
    """Send structlog and the standard library's records to stderr in the wanted format."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=False,
            exception_formatter=structlog.dev.plain_traceback,  # no local variables: keys
        )
    )
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    formatter = structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=last)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # At debug they tell request headers, a statement's values, an actor's arguments.
    for name in ("httpx", "httpcore", "peewee", "aijobs.actors"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("pika").setLevel(logging.CRITICAL)  # it logs whatever it raises as well
