"""A real HTTP server that plays a provider by script, with one knob for each way to misbehave.

Invariant: it answers each call by what was scripted and keeps a record of it, under any load.
"""

from tests.scripted_provider.exchange import Exchange, PeerClosed, ProviderCall
from tests.scripted_provider.journal import read_log
from tests.scripted_provider.knobs import KNOBS
from tests.scripted_provider.listeners import unaccepting_server
from tests.scripted_provider.server import ScriptedProvider

__all__ = [
    "KNOBS",
    "Exchange",
    "PeerClosed",
    "ProviderCall",
    "ScriptedProvider",
    "read_log",
    "unaccepting_server",
]
