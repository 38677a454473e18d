"""A TCP line between clients and a server, which a test cuts and mends.

Invariant: its address stays the same; while it is cut, connections are refused.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any


class Line:
    """Leads to `host` and `port`, from its own `port` on 127.0.0.1."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._holder = socket.socket()  # keeps the port from others while nothing listens there
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind(("127.0.0.1", 0))
        self.port: int = self._holder.getsockname()[1]
        self.accepted = 0
        self._ends: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def cut(self) -> None:
        """Break every connection and refuse new ones."""
        self._do(self._cut())

    def mend(self) -> None:
        """Accept connections."""
        self._do(self._mend())

    def __enter__(self) -> Line:
        self._thread.start()
        self.mend()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, where: TracebackType | None
    ) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        self._holder.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _mend(self) -> None:
        self._server = await asyncio.start_server(
            self._carry, "127.0.0.1", self.port, reuse_address=True
        )

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for end in self._ends:
            end.transport.abort()
        while self._ends:
            await asyncio.sleep(0.01)  # those who carry notice it

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._ends.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            self._ends.add(far_writer)
            try:
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
            finally:
                far_writer.transport.abort()
                self._ends.discard(far_writer)
        except OSError:
            pass  # one of the two is gone, so the other one is too
        finally:
            writer.transport.abort()
            self._ends.discard(writer)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    raise ConnectionResetError  # a half-closed connection is of no use to anybody here
