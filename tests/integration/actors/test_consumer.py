"""The consumer on Redis: woken by a bell, stopped by nothing, stranding no message."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from dramatiq import Message
from dramatiq.errors import ConnectionClosed

from aijobs.actors import broker as broker_module
from aijobs.actors.bells import Bells
from aijobs.actors.broker import WakingBroker, WokenConsumer
from aijobs.engine.signals import Listener
from tests.eventually import eventually
from tests.garbage import garbage

QUEUE = "ai-interactive"
WAIT_SECONDS = 30


def _message(name: str, queue: str = QUEUE) -> Message[Any]:
    return Message(
        queue_name=queue, actor_name="prepare", args=(), kwargs={"jobId": name}, options={}
    )


def _consumer(broker: WakingBroker, threads: int = 8, queue: str = QUEUE) -> WokenConsumer:
    """A consumer for so many threads; closed bells let it look and not wait."""
    return broker.consume(queue, prefetch=2 * threads)


def _take(consumer: WokenConsumer, count: int) -> list[Any]:
    """The next messages in hand, without waiting for more."""
    found = []
    for _ in range(count):
        message = next(consumer)
        if message is None:
            break
        found.append(message)
    return found


def _names(messages: list[Any]) -> list[str]:
    return [message.kwargs["jobId"] for message in messages]


@contextmanager
def without_patience(broker: WakingBroker) -> Iterator[None]:
    """Nobody waits for a bell longer than a moment."""
    broker.bells.close()
    yield


def test_a_batch_is_delivered_in_its_order_and_forgotten(
    broker: WakingBroker, client: redis.Redis
) -> None:
    broker.enqueue_batch([_message(str(number)) for number in range(5)])
    assert broker.backlog() == 5
    consumer = _consumer(broker)
    found = _take(consumer, 5)
    assert _names(found) == ["0", "1", "2", "3", "4"]
    for message in found:
        consumer.ack(message)
    assert broker.backlog() == 0
    assert client.keys("aijobs:*msgs") == []
    assert client.keys("aijobs:*acks*") == []


#: What stands in the place of a message's body.
GARBAGE = [
    *garbage(QUEUE, redis_message_id="x"),
    json.dumps({**_message("x").asdict(), "options": {}}).encode(),
]


@pytest.mark.parametrize("body", GARBAGE, ids=lambda body: repr(body[:24]))
def test_a_message_that_is_none_is_dropped_and_its_batch_delivered(
    broker: WakingBroker, client: redis.Redis, body: bytes
) -> None:
    broker.enqueue_batch([_message("first")])
    client.hset(f"aijobs:{QUEUE}.msgs", "garbage", body)
    client.rpush(f"aijobs:{QUEUE}", "garbage")
    broker.enqueue_batch([_message("last")])
    consumer = _consumer(broker)
    found = _take(consumer, 2)
    assert _names(found) == ["first", "last"]
    for message in found:
        consumer.ack(message)
    assert client.keys("aijobs:*msgs") == [], "garbage would come back whenever a worker dies"
    assert client.keys("aijobs:*acks*") == []


def test_bodies_that_were_evicted_strand_nothing(broker: WakingBroker, client: redis.Redis) -> None:
    messages = [_message(str(number)) for number in range(4)]
    broker.enqueue_batch(messages)
    for lost in (messages[0], messages[2]):
        client.hdel(f"aijobs:{QUEUE}.msgs", lost.message_id)
    consumer = _consumer(broker)
    assert _names(_take(consumer, 2)) == ["1", "3"]
    broker.enqueue_batch([_message("next")])
    broker.bells.ring(QUEUE)
    assert _names(_take(consumer, 1)) == ["next"]


def test_no_more_is_held_than_there_are_threads(broker: WakingBroker) -> None:
    broker.enqueue_batch([_message(str(number)) for number in range(3)])
    consumer = _consumer(broker, threads=2)
    first, second = _take(consumer, 2)
    with without_patience(broker):
        assert next(consumer) is None
    consumer.ack(first)
    assert _names(_take(consumer, 1)) == ["2"], "an acknowledgement makes room and rings"
    consumer.ack(second)


def test_a_rejected_message_makes_room_as_well(broker: WakingBroker, client: redis.Redis) -> None:
    broker.enqueue_batch([_message("bad"), _message("good")])
    consumer = _consumer(broker, threads=1)
    (bad,) = _take(consumer, 1)
    with without_patience(broker):
        assert next(consumer) is None
    consumer.nack(bad)
    assert _names(_take(consumer, 1)) == ["good"]


def test_what_is_given_back_is_delivered_again(broker: WakingBroker) -> None:
    broker.enqueue_batch([_message("a"), _message("b")])
    first = _consumer(broker)
    first.requeue(_take(first, 2))
    second = _consumer(broker)
    assert sorted(_names(_take(second, 2))) == ["a", "b"]


class _Noticed(Bells):
    """Bells that tell when somebody has begun to wait, and for how long."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[tuple[str, float]] = []

    def wait(self, queue_name: str, seconds: float) -> None:
        self.waits.append((queue_name, seconds))
        super().wait(queue_name, seconds)


def test_a_waiting_consumer_is_woken_by_a_bell_of_another_process(
    redis_url: str, broker: WakingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would look for itself after an hour: only the bell can be what woke it."""
    monkeypatch.setattr(broker_module, "IDLE_SECONDS", 3600.0)
    bells = _Noticed()
    waking = WakingBroker(redis_url, [], bells)
    connected = threading.Event()
    with redis.Redis.from_url(redis_url) as heard:
        listener = Listener(
            heard,
            [bells.channel(QUEUE)],
            lambda channel, _data: bells.heard(channel),
            connected.set,
        )
        hearing = threading.Thread(target=listener.run, daemon=True)
        hearing.start()
        assert connected.wait(WAIT_SECONDS)
        found: list[Any] = []
        consumer = _consumer(waking)

        def consume() -> None:
            while not found:
                found.extend(filter(None, [next(consumer)]))

        consuming = threading.Thread(target=consume, daemon=True)
        consuming.start()
        eventually(lambda: bells.waits, WAIT_SECONDS)
        assert not found
        broker.enqueue(_message("late"))  # the other process
        consuming.join(WAIT_SECONDS)
        woken = not consuming.is_alive()
        bells.close()
        listener.stop()
        hearing.join(WAIT_SECONDS)
        consuming.join(WAIT_SECONDS)
    assert woken
    assert _names(found) == ["late"]
    assert set(bells.waits) == {(QUEUE, 3600.0)}
    waking.client.close()


def test_a_ring_between_the_look_and_the_wait_is_not_lost(
    broker: WakingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "IDLE_SECONDS", 3600.0)
    consumer = _consumer(broker)
    fetch = broker.do_fetch

    def empty_handed(*given: Any) -> Any:
        found = fetch(*given)
        broker.enqueue_batch([_message("meanwhile")])
        broker.bells.ring(QUEUE)
        return found

    monkeypatch.setattr(broker, "do_fetch", empty_handed)
    assert next(consumer) is None
    monkeypatch.setattr(broker, "do_fetch", fetch)
    assert _names([next(consumer)]) == ["meanwhile"]


def test_a_quiet_consumer_does_not_look_into_redis(
    broker: WakingBroker, client: redis.Redis
) -> None:
    consumer = _consumer(broker)
    with without_patience(broker):
        assert next(consumer) is None
        assert next(consumer) is None
        before = client.info("stats")["total_commands_processed"]
        for _ in range(5):
            assert next(consumer) is None
        assert client.info("stats")["total_commands_processed"] == before + 1


def test_delayed_messages_wait_beside_the_system_queue(broker: WakingBroker) -> None:
    broker.enqueue(_message("later", "system"), delay=60_000)
    assert broker.backlog() == 0
    delayed = broker.consume("system.DQ", prefetch=4)
    assert _names(_take(delayed, 1)) == ["later"]
    assert delayed.queued_message_ids, "one in hand is looked at every second"
    assert broker.queues == {"ai-interactive", "ai-background", "ai-analysis", "system"}
    assert broker.delay_queues == {"system.DQ"}


def test_without_redis_nothing_but_a_lost_connection_is_told(
    broker: WakingBroker, client: redis.Redis
) -> None:
    broker.enqueue_batch([_message("a"), _message("b")])
    consumer = _consumer(broker)
    (message, other) = _take(consumer, 2)
    kept = broker.client
    with redis.Redis.from_url("redis://127.0.0.1:1/0", retry=None) as nowhere:
        broker.client = nowhere
        broker.scripts = {
            name: nowhere.register_script(script.script) for name, script in broker.scripts.items()
        }
        consumer.ack(message)
        consumer.nack(other)
        broker.bells.ring(QUEUE)
        with pytest.raises(ConnectionClosed):
            next(consumer)
        with pytest.raises(ConnectionClosed):
            consumer.requeue([message])
        with pytest.raises(ConnectionClosed):
            broker.enqueue_batch([_message("c")])
        with pytest.raises(ConnectionClosed):
            broker.backlog()
        broker.client = kept
    assert client.hlen(f"aijobs:{QUEUE}.msgs") == 2, "not acknowledged: they will come again"


def test_bells_of_a_process(broker: WakingBroker) -> None:
    bells = broker.bells
    assert not bells.take("a")
    bells.ring("a")
    assert (bells.take("a"), bells.take("a")) == (True, False)
    bells.heard(bells.channel("b"))
    assert (bells.take("b"), bells.take("a")) == (True, False)
    bells.ring_all()
    assert (bells.take("a"), bells.take("b")) == (True, True)
    bells.ring("a")
    bells.wait("a", 3600)
    bells.close()
    bells.take("a")
    bells.wait("a", 3600)
