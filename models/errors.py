"""What the models layer refuses.

ModelError
├── JobNotFound
├── JobAlreadyTerminal        succeeded, failed or cancelled: nothing more happens to it
├── JobLockConflict           another executor holds it
├── LeaseLost                 the attempt no longer holds its job: stop, write nothing
├── IllegalTransition         a bug: no listed edge leads there
├── TargetGone                what a job writes about was deleted
├── NoRoom                    a limit or budget has no room for it
├── CircuitRefuses            the circuit of a route lets no call through
└── DatabaseAway              no connection within the caller's patience
"""

from __future__ import annotations

from typing import Any
from uuid import UUID


class ModelError(Exception):
    """Base of what the models layer refuses."""


class JobNotFound(ModelError):
    """No such job (for a user: none of theirs)."""

    def __init__(self, job_id: UUID) -> None:
        super().__init__(f"job {job_id} does not exist")
        self.job_id = job_id


class _JobState(ModelError):
    """A refusal that depends on the job's present state, kept as `status` and `attempt_no`."""

    def __init__(self, edge: str, row: dict[str, Any]) -> None:
        self.edge = edge
        self.job_id: UUID = row["id"]
        self.status: str = row["lifecycle_status"]
        self.attempt_no: int = row["attempt_no"]
        super().__init__(f"{edge}: job {self.job_id} is {self.status} at attempt {self.attempt_no}")


class JobAlreadyTerminal(_JobState):
    """The job has ended."""


class JobLockConflict(_JobState):
    """Another executor holds the job."""


class LeaseLost(_JobState):
    """The attempt no longer holds its job: whatever it wanted to write did not happen."""


class IllegalTransition(_JobState):
    """No listed edge leads from the job's state to the wanted one."""


class TargetGone(ModelError):
    """The knowledge base or point that a job is about was deleted."""


class NoRoom(ModelError):
    """A limit or budget has no room for a job or a call; `code` is the API's."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class CircuitRefuses(ModelError):
    """The circuit of a route lets no call through, or no probe more."""


class DatabaseAway(ModelError):
    """PostgreSQL could not be reached within the caller's patience."""
