"""A scripted provider as a process: `python -m tests.scripted_provider --port N --log FILE.jsonl`.

Invariant: it prints its base URL once it answers, and then runs until it is killed.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from tests.scripted_provider.server import ScriptedProvider


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m tests.scripted_provider")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--log", type=Path, required=True, help="one JSON line per change of a call"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="silence before each answer")
    parser.add_argument("--knob", default="slow", help="how calls are answered")
    parser.add_argument("--unique", action="store_true", help="another answer for every call")
    arguments = parser.parse_args()
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with ScriptedProvider(
        port=arguments.port, log=arguments.log, unique_answers=arguments.unique
    ) as provider:
        options = {"seconds": arguments.seconds} if arguments.knob.startswith("slow") else {}
        provider.script(arguments.knob, **options)
        print(provider.base_url, flush=True)
        signal.sigwait(ends)


if __name__ == "__main__":
    main()
