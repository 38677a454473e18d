"""PROJECT: one transaction turns the validated output into business rows and ends the job."""

from __future__ import annotations

from aijobs.engine.attempt import Attempt
from aijobs.engine.engine import Engine
from aijobs.engine.projectors import Transaction
from aijobs.engine.stages.outcome import stage
from aijobs.engine.stages.resolve import Resolved
from aijobs.models import database as db
from aijobs.models.lifecycle import succeed
from aijobs.models.publication import lock_target
from aijobs.models.results import Validated, accept


@stage
def project(engine: Engine, attempt: Attempt, resolved: Resolved, validated: Validated) -> None:
    """Succeed first, fenced, so that nothing follows for a lost lease; then everything else."""
    attempt.enter()
    key = resolved.definition.projector
    projector = None if key is None else engine.projectors[key]

    def work() -> None:
        job = succeed(attempt.lease, output_hash=validated.output_hash)
        lock_target(job)
        produced = projector(Transaction(resolved.refs), job, validated.output) if projector else []
        accept(attempt.lease, produced)

    db.transact("project", work, patient=attempt.may_insist)
