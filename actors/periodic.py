"""periodiq starts the passes every minute; delayed messages make the finer steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dramatiq
import redis
import structlog
from dramatiq import Broker
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import CurrentMessage
from periodiq import cron

from aijobs.actors.passes import Passes
from aijobs.actors.queues import SYSTEM

_MINUTE_SECONDS = 60.0

log = structlog.get_logger()


class Reminder(dramatiq.Actor[..., Any]):
    """An actor whose message is lost quietly when Redis is away: the ticker runs what is overdue,
    and periodiq, which ends at any error of a send, goes on.
    """

    def send_with_options(self, **options: Any) -> Any:
        try:
            return super().send_with_options(**options)
        except (redis.RedisError, ConnectionClosed) as error:
            log.warning("reminder_lost", actor=self.actor_name, error=type(error).__name__)
            return None


def declare(broker: Broker, passes: Callable[[], Passes], interval_seconds: float) -> Any:
    """Declare the actor `maintain`. Two schedulers are harmless: a pass that is not due does
    nothing.
    """

    @dramatiq.actor(
        actor_class=Reminder,
        actor_name="maintain",
        queue_name=SYSTEM,
        broker=broker,
        periodic=cron("* * * * *"),
    )
    def maintain() -> None:
        message = CurrentMessage.get_current_message()
        if message is not None and "scheduled_at" in message.options:
            for step in range(1, int(_MINUTE_SECONDS / interval_seconds - 1e-9) + 1):
                maintain.send_with_options(delay=int(step * interval_seconds * 1000))
        passes().run_due()

    return maintain
