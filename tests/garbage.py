"""Bodies that are no message, though a queue may hold them."""

from __future__ import annotations

import json
from typing import Any

from dramatiq import Message


def garbage(queue: str, **options: Any) -> list[bytes]:
    """One of each kind, the same each time; `options`: those of every message of a broker."""

    def changed(**fields: Any) -> bytes:
        whole = Message(queue, "prepare", (), {"jobId": "x"}, options, "an id", 0).asdict()
        return json.dumps({**whole, **fields}).encode()

    return [
        *(b"", b"garbage", b"\x00\xff\xfe", b"null", b"5", b"[]", b"{}", b'"text"'),
        b"[" * 100_000,
        changed(unknown=1),
        changed(args=None),
        changed(args=5),
        changed(kwargs=None),
        changed(kwargs=["jobId"]),
        changed(options=None),
        changed(options=["eta"]),
        changed(options={**options, "throws": "ValueError"}),
        changed(options={**options, "pipe_target": {"queue_name": queue}}),
        changed(actor_name=None),
        changed(actor_name=["prepare"]),
        changed(message_id=[]),
        changed(message_id=None),
        changed(queue_name="nowhere"),
        changed(queue_name=None),
    ]
