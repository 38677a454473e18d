"""The transitions of a job, one function per edge; nothing else writes `lifecycle_status`."""

from aijobs.models.lifecycle.cancelling import cancel, cancel_all_of, request_cancel
from aijobs.models.lifecycle.claiming import adopt, claim
from aijobs.models.lifecycle.creating import NewJob, create, find_by_key
from aijobs.models.lifecycle.holding import (
    Failure,
    begin,
    checkpoint,
    confirm_cancel,
    fail,
    hand_back,
    release_for_retry,
    succeed,
)
from aijobs.models.lifecycle.lease import Lease, Renewal, renew
from aijobs.models.lifecycle.reaping import (
    confirm_cancel_lapsed,
    expire,
    give_up,
    lapsed,
    reject,
    requeue,
)

__all__ = [
    "Failure",
    "Lease",
    "NewJob",
    "Renewal",
    "adopt",
    "begin",
    "cancel",
    "cancel_all_of",
    "checkpoint",
    "claim",
    "confirm_cancel",
    "confirm_cancel_lapsed",
    "create",
    "expire",
    "fail",
    "find_by_key",
    "give_up",
    "hand_back",
    "lapsed",
    "reject",
    "release_for_retry",
    "renew",
    "request_cancel",
    "requeue",
    "succeed",
]
