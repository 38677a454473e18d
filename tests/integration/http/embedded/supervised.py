"""A supervisor over stand-ins, as a program of its own: DIRECTORY, then commands as JSON."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path

from aijobs.http.embedded.directory import Directory
from aijobs.http.embedded.process import Command
from aijobs.http.embedded.records import MARK, Records, stop_leftovers
from aijobs.http.embedded.supervisor import StopAsked, Supervisor
from aijobs.http.embedded.wakeups import Wakeups


def main(path: str, commands: str) -> None:
    """Run `[[name, code, tier, grace_seconds], ...]` until a signal asks to stop."""
    directory = Directory(Path(path))
    env = {**os.environ, MARK: path}
    say = partial(print, flush=True)
    with directory.locked(), Wakeups() as wakeups:
        for left in stop_leftovers(directory.processes, path):
            say(f"left over: {left}")
        supervisor = Supervisor(wakeups, Records(directory.processes), say)
        try:
            for name, code, tier, grace in json.loads(commands):
                supervisor.start(
                    Command(
                        name=name,
                        argv=(sys.executable, "-c", code, path),
                        log=directory.log(name),
                        env=env,
                        grace_seconds=grace,
                    ),
                    tier=tier,
                )
            supervisor.run()
        except StopAsked:
            say("stopping")
        finally:
            supervisor.stop()
        say("stopped")


if __name__ == "__main__":
    main(*sys.argv[1:])
