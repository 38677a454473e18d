"""Every route of the application itself, so that a new one cannot be left out of a walk."""

from __future__ import annotations

from falcon import inspect

from tests.integration.http.caller import ADMIN_PREFIX, PREFIX, Caller


def all_routes(caller: Caller) -> list[tuple[str, str]]:
    """(method, path template) of everything that the application answers."""
    return [
        (method.method, route.path)
        for route in inspect.inspect_app(caller.client.app).routes
        for method in route.methods
        if not method.internal
    ]


def user_routes(caller: Caller) -> list[tuple[str, str]]:
    """The same below the user API's prefix, without the prefix."""
    return [
        (method, path.removeprefix(PREFIX))
        for method, path in all_routes(caller)
        if path.startswith(f"{PREFIX}/")
    ]


def admin_routes(caller: Caller) -> list[tuple[str, str]]:
    """The same below the admin API's."""
    return [
        (method, path.removeprefix(ADMIN_PREFIX))
        for method, path in all_routes(caller)
        if path.startswith(f"{ADMIN_PREFIX}/")
    ]
