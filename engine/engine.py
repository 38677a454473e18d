"""What an executor works with, put together once in a composition root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from aijobs.engine.attempt import Attempts
from aijobs.engine.chat import Provider, Route
from aijobs.engine.crowd import Crowd
from aijobs.engine.definition import InvalidJobDefinition
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.metrics import Meters
from aijobs.engine.offline import OfflineProvider
from aijobs.engine.projectors import PROJECTORS, Projector
from aijobs.engine.registry import DuplicateJobDefinition, Registry, builtin_registry
from aijobs.engine.settings import Settings, SettingsError
from aijobs.engine.vault import Vault, vault_of


@dataclass(frozen=True)
class Engine:
    """The collaborators of the stages. `holder` names this process start in leases; `route` is for
    every tier that has no routes of its own in `tiers`; `gateway` calls with users' own keys.
    """

    settings: Settings
    registry: Registry
    provider: Provider
    gateway: Provider
    route: Route
    holder: str
    tiers: Mapping[str, tuple[Route, ...]] = field(default_factory=dict)
    projectors: Mapping[str, Projector] = field(default_factory=lambda: dict(PROJECTORS))
    attempts: Attempts = field(default_factory=Attempts)
    crowd: Crowd = field(default_factory=Crowd)
    vault: Vault = field(default_factory=Vault)
    meters: Meters = field(default_factory=Meters)

    def circuit_routes(self) -> dict[str, list[tuple[str, str]]]:
        """Job type -> (provider, model) of its tier's routes: the circuits that it depends on."""
        return {
            definition.job_type: [
                (route.provider, route.model) for route in self.routes(definition.tier)
            ]
            for definition in self.registry
        }

    def routes(self, tier: str) -> tuple[Route, ...]:
        """Where requests of a tier go, in the order of preference."""
        return self.tiers.get(tier) or (self.route,)

    def has_route(self, tier: str) -> bool:
        """Whether the platform can ask anybody for this tier: not when no key is configured."""
        is_offline = self.settings.provider == "offline"
        return is_offline or any(route.api_key for route in self.routes(tier))


def build_engine(settings: Settings) -> Engine:
    """The engine that the settings describe. Raises SettingsError for what cannot be used."""
    gateway = OpenAIProvider(connect_seconds=settings.provider_connect_seconds)
    return Engine(
        settings=settings,
        registry=_registry(settings),
        provider=OfflineProvider() if settings.provider == "offline" else gateway,
        gateway=gateway,
        vault=vault_of(settings),
        meters=_meters(settings),
        route=_route(settings),
        tiers=_tiers(settings),
        holder=f"{settings.instance}:{os.getpid()}:{uuid4()}",
    )


def _meters(settings: Settings) -> Meters:
    try:
        return Meters(settings.metrics_dir)
    except OSError as error:
        raise SettingsError([f"AIJOBS_METRICS_DIR cannot be used: {error}"]) from error


def _registry(settings: Settings) -> Registry:
    try:
        return builtin_registry(settings.definitions_modules)
    except (ImportError, AttributeError, InvalidJobDefinition, DuplicateJobDefinition) as error:
        raise SettingsError([f"AIJOBS_DEFINITIONS_MODULES cannot be used: {error}"]) from error


def _tiers(settings: Settings) -> dict[str, tuple[Route, ...]]:
    tiers: dict[str, tuple[Route, ...]] = {}
    for named in settings.routes:
        route = Route(
            provider=named.provider,
            model=named.model,
            base_url=named.base_url,
            api_key=named.api_key.get_secret_value(),
            extra_body=named.extra_body,
        )
        tiers[named.tier] = (*tiers.get(named.tier, ()), route)
    return tiers


def _route(settings: Settings) -> Route:
    if settings.provider == "offline":
        return Route(
            provider="offline", model="offline-rules-1", base_url="", api_key="", extra_body={}
        )
    key = settings.provider_api_key
    return Route(
        provider="openai",
        model=settings.provider_model,
        base_url=settings.provider_base_url,
        api_key="" if key is None else key.get_secret_value(),
        extra_body={},
    )
