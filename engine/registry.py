"""The job types that this process knows, by name.

Invariant: what is in a registry has passed `definition.check`, and no job type is in it twice.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator

from aijobs.engine.definition import JobDefinition, check
from aijobs.engine.job_types import BUILTIN


class UnknownJobType(Exception):
    """No definition of this job type is registered here."""

    def __init__(self, job_type: str) -> None:
        super().__init__(f"no definition of job type {job_type!r} is registered")
        self.job_type = job_type


class DuplicateJobDefinition(Exception):
    """A job type was registered before; the first definition stays."""

    def __init__(self, job_type: str) -> None:
        super().__init__(f"job type {job_type!r} is registered already")
        self.job_type = job_type


class Registry:
    """Definitions by job type. Filled by composition roots, then only read."""

    def __init__(self, definitions: Iterable[JobDefinition] = ()) -> None:
        self._definitions: dict[str, JobDefinition] = {}
        for definition in definitions:
            self.register(definition)

    def register(self, definition: JobDefinition) -> None:
        """Raises InvalidJobDefinition or DuplicateJobDefinition."""
        check(definition)
        if definition.job_type in self._definitions:
            raise DuplicateJobDefinition(definition.job_type)
        self._definitions[definition.job_type] = definition

    def get(self, job_type: str) -> JobDefinition:
        """Raises UnknownJobType."""
        try:
            return self._definitions[job_type]
        except KeyError:
            raise UnknownJobType(job_type) from None

    def known(self) -> list[tuple[str, int]]:
        """(job type, definition version) of everything registered, by name."""
        return sorted((item.job_type, item.version) for item in self)

    def __iter__(self) -> Iterator[JobDefinition]:
        return iter(self._definitions.values())

    def __contains__(self, job_type: object) -> bool:
        return job_type in self._definitions


def builtin_registry(modules: Iterable[str] = ()) -> Registry:
    """The built-in definitions, then those that `modules` add.

    Each module is imported by name and has a function `register(registry)`.
    """
    registry = Registry(BUILTIN)
    for name in modules:
        importlib.import_module(name).register(registry)
    return registry
