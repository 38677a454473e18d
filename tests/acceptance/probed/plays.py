"""How each probe of the crash matrix is reached: a job, a process that dies, others that finish it.

Invariant: after the death a play does only what the world outside would do anyway: restart a
process, repeat a request that got no answer, and let time pass.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from aijobs.engine import stages
from aijobs.engine.cancelling import cancel_job
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.signals import Signals
from aijobs.models.lifecycle import request_cancel
from tests.acceptance.probed.child import Child
from tests.acceptance.probed.scene import Scene
from tests.eventually import eventually
from tests.scripted_provider import Exchange
from tests.scripted_provider.answers import default_answer
from tests.scripted_provider.knobs import ok, silence

Orders = Mapping[str, Any]


def run(scene: Scene, orders: Orders) -> UUID:
    """The plain case: a worker dies, another one starts."""
    job = scene.world.create()
    scene.worker(**orders).dies()
    return _recover(scene, job.id)


def run_past_a_call_without_answer(scene: Scene, orders: Orders) -> UUID:
    """The worker dies while it waits: at a heartbeat after its call has arrived."""
    arrived = scene.folder / "the-call-has-arrived"

    def arrive(exchange: Exchange) -> None:
        arrived.touch()
        silence(exchange)

    scene.provider.enqueue(arrive)
    return run(scene, {**orders, "after": arrived})


def run_on_an_expired_snapshot(scene: Scene, orders: Orders) -> UUID:
    """The snapshot has to be rebuilt before it is used."""
    job = scene.world.create()
    scene.execute("UPDATE ai_job_snapshot SET expires_at = now() - interval '1 hour'")
    scene.worker(**orders).dies()
    return _recover(scene, job.id)


def run_past_an_unavailable_provider(scene: Scene, orders: Orders) -> UUID:
    """The first call fails in a way that a retry may help."""
    scene.provider.enqueue("503")
    return run(scene, orders)


def run_past_a_refused_key(scene: Scene, orders: Orders) -> UUID:
    """The first call shows that the platform's key is refused: the job is handed back."""
    scene.provider.enqueue("401")
    return run(scene, orders)


def run_into_a_refused_request(scene: Scene, orders: Orders) -> UUID:
    """Every call fails in a way that no retry helps."""
    scene.provider.script("400")
    return run(scene, orders)


def run_with_an_answer_to_repair(scene: Scene, orders: Orders) -> UUID:
    """Every first answer is no JSON, and every repair round mends it."""

    def answer(exchange: Exchange) -> None:
        if "You correct a JSON document" not in exchange.body["messages"][0]["content"]:
            first.append(exchange.body)
            ok(exchange, text="I would rather not answer in JSON.")
        else:
            ok(exchange, text=default_answer(first[-1]))

    first: list[dict[str, Any]] = []
    scene.provider.script(answer)
    return run(scene, orders)


def create(scene: Scene, orders: Orders) -> UUID:
    """The API dies; its client gets no answer, and sends the same request to the next one."""
    key = str(uuid4())
    _dies_at(scene, orders, lambda api: api.create(scene.world.base_id, key))
    answer = scene.api().create(scene.world.base_id, key)
    made = 201 if orders["dies_at"] == "create.before_commit" else 200
    assert answer.status_code == made
    assert len(scene.rows("SELECT id FROM ai_job")) == 1
    scene.worker()
    scene.converges()
    return UUID(answer.json()["jobId"])


def cancel_while_queued(scene: Scene, orders: Orders) -> UUID:
    """The API dies while it cancels a job that nobody holds; the client asks again."""
    job = scene.world.create()
    _dies_at(scene, orders, lambda api: api.cancel(job.id))
    answer = scene.api().cancel(job.id)
    assert answer.status_code == (200 if orders["dies_at"] == "cancel.before_commit" else 409)
    scene.worker()
    scene.converges()
    return job.id


def cancel_while_running(scene: Scene, orders: Orders) -> UUID:
    """The API dies while it asks a holder to stop. A committed request needs no second one."""
    job = scene.world.create()
    scene.provider.enqueue("silence")
    scene.worker()
    eventually(lambda: scene.provider.calls, 30)
    _dies_at(scene, orders, lambda api: api.cancel(job.id))
    if orders["dies_at"] == "request_cancel.before_commit":
        assert scene.api().cancel(job.id).status_code == 202
    assert scene.provider.calls[0].peer_closed.wait(30)
    scene.converges()
    return job.id


def be_cancelled(scene: Scene, orders: Orders) -> UUID:
    """A worker dies while it ends its work for a cancel request."""
    job = scene.world.create()
    scene.provider.enqueue("silence")
    dying = scene.worker(**orders)
    eventually(lambda: scene.provider.calls, 30)
    engine = scene.world.engine
    signals = Signals.connect(engine.settings.redis_url)
    cancel_job(engine.registry, signals, job.id, reason="a test", actor="test")
    dying.dies()
    return _recover(scene, job.id)


def reap_and_requeue(scene: Scene, orders: Orders) -> UUID:
    """A worker dies while it reaps a job whose holder is gone."""
    job = scene.world.create()
    _leave_running(scene)
    return _recover_after(scene, orders, job.id)


def reap_and_give_up(scene: Scene, orders: Orders) -> UUID:
    """As before, for a job without a retry left."""
    job = scene.world.create()
    scene.execute("UPDATE ai_job SET retry_count = max_retry_count")
    _leave_running(scene)
    return _recover_after(scene, orders, job.id)


def reap_and_cancel(scene: Scene, orders: Orders) -> UUID:
    """As before, for a job whose holder was asked to stop, and died."""
    job = scene.world.create()
    _leave_running(scene)
    assert request_cancel(job.id, reason="a test") is not None
    return _recover_after(scene, orders, job.id)


def sweep_a_lost_hint(scene: Scene, orders: Orders) -> UUID:
    """The job's message is gone with the broker."""
    job = scene.world.create()
    scene.execute("UPDATE outbox_event SET status = 'published', published_at = now()")
    return _recover_after(scene, orders, job.id)


def sweep_a_lost_end(scene: Scene, orders: Orders) -> UUID:
    """The job has succeeded, and the message that tells so is gone with the broker."""
    with closing(OpenAIProvider()) as provider:
        world = scene.world.with_provider(provider)
        job = world.create()
        world.run(world.claim())
    scene.execute("UPDATE outbox_event SET status = 'published', published_at = now()")
    return _recover_after(scene, orders, job.id)


def sweep_an_orphan(scene: Scene, orders: Orders) -> UUID:
    """The job waits for one that was cancelled, and nobody has told it."""
    engine = scene.world.engine
    parent, job = scene.world.create(), scene.world.create()
    signals = Signals.connect(engine.settings.redis_url)
    cancel_job(engine.registry, signals, parent.id, reason="a test", actor="test")
    assert stages.complete(parent.id)
    scene.execute(
        "INSERT INTO ai_job_dependency (job_id, after_job_id) VALUES (%(job)s, %(parent)s)",
        job=str(job.id),
        parent=str(parent.id),
    )
    return _recover_after(scene, orders, job.id)


def release_a_dead_relays_event(scene: Scene, orders: Orders) -> UUID:
    """The event of the job was claimed by a relay that is gone."""
    job = scene.world.create()
    scene.execute(
        "UPDATE outbox_event SET status = 'processing', locked_by = 'gone', locked_at = now()"
    )
    return _recover_after(scene, orders, job.id)


def fail_a_pass(scene: Scene, orders: Orders) -> UUID:
    """The sweep fails, which is noted, until its reason is gone."""
    job = scene.world.create()
    scene.execute("UPDATE outbox_event SET status = 'published', published_at = now()")
    scene.half_a_day_passes()
    scene.execute(_BREAK_SWEEP)
    scene.worker(queues=("system",), **orders).dies()
    scene.execute("DROP TRIGGER broken ON ai_job")
    return _recover(scene, job.id)


def relay_without_a_broker(scene: Scene, orders: Orders) -> UUID:
    """The relay finds no broker, and gives its events back."""
    job = scene.world.create()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = f"127.0.0.1:{taken.getsockname()[1]}"
    away = {"REDIS_URL": f"redis://{nowhere}/0"}
    if "AMQP_URL" in scene.environ:
        away["AMQP_URL"] = f"amqp://{nowhere}"
    scene.worker(environ=away, **orders).dies()
    return _recover(scene, job.id)


def relay_a_faulty_event(scene: Scene, orders: Orders) -> UUID:
    """The job's queue does not exist: after three faults its event is dead."""
    job = scene.world.create()
    scene.execute("UPDATE ai_job SET queue_name = 'nowhere'")
    scene.execute(
        """UPDATE outbox_event SET payload = jsonb_set(payload, '{queueName}', '"nowhere"')"""
    )
    scene.worker(**orders).dies()
    return _recover(scene, job.id)


_BREAK_SWEEP = """
CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the sweep is broken'; END $$;
CREATE TRIGGER broken BEFORE UPDATE OF dispatched_at ON ai_job
    FOR EACH ROW EXECUTE FUNCTION broken();
"""


def _recover(scene: Scene, job_id: UUID) -> UUID:
    """After a death: time passes, and a fresh worker does the rest."""
    scene.half_a_day_passes()
    scene.worker()
    scene.converges()
    return job_id


def _recover_after(scene: Scene, orders: Orders, job_id: UUID) -> UUID:
    """Time passes, the worker that repairs dies of it, and the next one does better."""
    scene.half_a_day_passes()
    scene.worker(queues=("system",), **orders).dies()
    return _recover(scene, job_id)


def _leave_running(scene: Scene) -> None:
    """Claim in the process of the test, which never gets on with it."""
    attempt = scene.world.claim()
    scene.world.engine.attempts.remove(attempt)


def _dies_at(scene: Scene, orders: Orders, ask: Any) -> Child:
    """Ask an API that dies of it."""
    api = scene.api(**orders)
    with pytest.raises(httpx.TransportError):
        ask(api)
    api.child.dies()
    return api.child
