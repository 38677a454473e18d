"""The calls of a scripted provider in a file, for tests that kill everything else.

Invariant: a line is written before the call goes on; the last line of a number counts.
"""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

from tests.scripted_provider.exchange import ProviderCall


class Journal:
    """One JSON line when a call is received, and one when it has ended."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def write(self, call: ProviderCall) -> None:
        """Append the state of `call` and flush."""
        entry = {
            "n": call.number,
            "at": call.received_at,
            "sha": hashlib.sha256(json.dumps(call.body, sort_keys=True).encode()).hexdigest(),
            "model": call.body.get("model"),
            "outcome": call.outcome,
        }
        with self._lock:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The calls in a log, each once with its last outcome, by number."""
    calls = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        entry = json.loads(line)
        calls[entry["n"]] = entry
    return [calls[number] for number in sorted(calls)]
