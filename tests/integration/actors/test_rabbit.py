"""The broker on RabbitMQ: confirmed sends, consumers that nothing stops, one kind of fault."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dramatiq import Message
from dramatiq.errors import ConnectionClosed

from aijobs.actors import rabbit as rabbit_module
from aijobs.actors.queues import SYSTEM, TOPICS
from aijobs.actors.rabbit import ConfirmingBroker, SturdyConsumer
from tests.eventually import eventually
from tests.garbage import garbage
from tests.line import Line
from tests.rabbitmq import Rabbit

QUEUE = "ai-interactive"
WAIT_SECONDS = 30
LOOK_MILLISECONDS = 50


@pytest.fixture
def cleared(rabbit: Rabbit) -> Rabbit:
    rabbit.clear()
    return rabbit


@pytest.fixture
def broker(cleared: Rabbit) -> Iterator[ConfirmingBroker]:
    """A broker without workers and without middleware."""
    made = ConfirmingBroker(cleared.url, [])
    yield made
    made.close()


@pytest.fixture
def consume(broker: ConfirmingBroker) -> Iterator[Callable[..., SturdyConsumer]]:
    """Consumers for so many threads; they are closed at the end."""
    made: list[SturdyConsumer] = []

    def begin(threads: int = 8, at: ConfirmingBroker = broker) -> SturdyConsumer:
        made.append(at.consume(QUEUE, prefetch=2 * threads, timeout=LOOK_MILLISECONDS))
        return made[-1]

    yield begin
    for consumer in made:
        if consumer.connection.is_open:
            consumer.close()


def _message(name: str) -> Message[Any]:
    return Message(QUEUE, "prepare", (), {"jobId": name}, {})


def _take(consumer: SturdyConsumer, count: int) -> list[Any]:
    """The next messages."""
    found: list[Any] = []

    def is_enough() -> bool:
        message = next(consumer)
        found.extend([message] if message else [])
        return len(found) == count

    eventually(is_enough, WAIT_SECONDS)
    return found


def _settle(consumer: SturdyConsumer) -> None:
    """Send what was acknowledged."""
    assert next(consumer) is None


def _names(messages: list[Any]) -> list[str]:
    return [message.kwargs["jobId"] for message in messages]


def test_a_batch_is_delivered_in_its_order_and_forgotten(
    broker: ConfirmingBroker, consume: Callable[..., SturdyConsumer], rabbit: Rabbit
) -> None:
    broker.enqueue_batch([_message(str(number)) for number in range(5)])
    assert broker.backlog() == 5
    consumer = consume()
    found = _take(consumer, 5)
    assert _names(found) == ["0", "1", "2", "3", "4"]
    for message in found:
        consumer.ack(message)
    _settle(consumer)
    consumer.close()
    assert rabbit.waiting(QUEUE) == 0
    assert rabbit.dead_letters(QUEUE) == {}


def test_garbage_goes_to_the_dead_letters_once_and_stops_nothing(
    broker: ConfirmingBroker, consume: Callable[..., SturdyConsumer], rabbit: Rabbit
) -> None:
    broker.enqueue_batch([_message("first")])
    bodies = garbage(QUEUE)
    for body in bodies:
        rabbit.publish(QUEUE, body)
    broker.enqueue_batch([_message("last")])
    consumer = consume(threads=1)
    for name in ("first", "last"):
        (message,) = _take(consumer, 1)
        assert (_names([message]), message.redelivered) == ([name], False)
        consumer.ack(message)
    _settle(consumer)
    consumer.close()
    assert rabbit.waiting(QUEUE) == 0
    assert rabbit.dead_letters(QUEUE) == {QUEUE: bodies}


def test_no_more_is_held_than_there_are_threads(
    broker: ConfirmingBroker, consume: Callable[..., SturdyConsumer], rabbit: Rabbit
) -> None:
    broker.enqueue_batch([_message(str(number)) for number in range(3)])
    consumer = consume(threads=2)
    first, second = _take(consumer, 2)
    assert next(consumer) is None
    assert rabbit.waiting(QUEUE) == 1
    consumer.ack(first)
    assert _names(_take(consumer, 1)) == ["2"]
    consumer.ack(second)


def test_a_rejected_message_makes_room_as_well(
    broker: ConfirmingBroker, consume: Callable[..., SturdyConsumer], rabbit: Rabbit
) -> None:
    broker.enqueue_batch([_message("bad"), _message("good")])
    consumer = consume(threads=1)
    (bad,) = _take(consumer, 1)
    consumer.nack(bad)
    assert _names(_take(consumer, 1)) == ["good"]
    assert rabbit.dead_letters(QUEUE) == {QUEUE: [bad.encode()]}


def test_a_queue_that_is_deleted_is_made_again_by_its_consumer(
    broker: ConfirmingBroker, consume: Callable[..., SturdyConsumer], rabbit: Rabbit
) -> None:
    consumer = consume()
    _settle(consumer)
    rabbit.delete(QUEUE)
    with pytest.raises(ConnectionClosed):
        _take(consumer, 1)
    again = consume()
    _settle(again)
    rabbit.publish(QUEUE, _message("there").encode())
    assert _names(_take(again, 1)) == ["there"]


def test_a_queue_that_is_deleted_is_made_again_by_a_send(
    broker: ConfirmingBroker, rabbit: Rabbit
) -> None:
    broker.enqueue_batch([_message("lost")])
    rabbit.delete(QUEUE)
    broker.enqueue_batch([_message("kept")])
    assert rabbit.waiting(QUEUE) == 1


def test_the_backlog_counts_nothing_for_a_queue_that_is_deleted(
    broker: ConfirmingBroker, rabbit: Rabbit
) -> None:
    for name in (*TOPICS, SYSTEM):
        broker.declare_queue(name, ensure=True)
    broker.enqueue_batch([_message("a"), _message("b")])
    rabbit.delete(SYSTEM)
    assert broker.backlog() == 2
    rabbit.publish(SYSTEM, b"it is there again")
    assert broker.backlog() == 3


@pytest.fixture
def line(cleared: Rabbit) -> Iterator[Line]:
    with Line(*cleared.place) as line:
        yield line


@pytest.fixture
def far_broker(line: Line, cleared: Rabbit) -> Iterator[ConfirmingBroker]:
    """A broker at the far end of the line."""
    made = ConfirmingBroker(cleared.url_at(line.port), [])
    yield made
    made.close()


def test_a_connection_that_broke_meanwhile_costs_no_send(
    far_broker: ConfirmingBroker, line: Line, rabbit: Rabbit
) -> None:
    far_broker.enqueue(_message("before"))
    line.cut()
    line.mend()
    far_broker.enqueue(_message("after"))
    assert rabbit.waiting(QUEUE) == 2
    assert far_broker.backlog() == 2


def test_an_answer_without_a_connection_is_forgotten_and_the_message_comes_again(
    far_broker: ConfirmingBroker,
    line: Line,
    consume: Callable[..., SturdyConsumer],
) -> None:
    far_broker.enqueue_batch([_message("done"), _message("refused")])
    consumer = consume(at=far_broker)
    done, refused = _take(consumer, 2)
    line.cut()
    with pytest.raises(ConnectionClosed):
        _take(consumer, 1)
    consumer.ack(done)
    consumer.nack(refused)
    line.mend()
    found = _take(consume(at=far_broker), 2)
    assert [(one.kwargs["jobId"], one.redelivered) for one in found] == [
        ("done", True),
        ("refused", True),
    ]


AWAY = {
    "refused": "amqp://guest:guest@127.0.0.1:1/",
    "no such host": "amqp://guest:guest@broker.invalid/",
}


@pytest.mark.parametrize("url", AWAY.values(), ids=AWAY)
def test_every_fault_is_a_closed_connection(url: str) -> None:
    broker = ConfirmingBroker(url, [])
    for ask in (
        broker.backlog,
        lambda: broker.consume(QUEUE),
        lambda: broker.enqueue(_message("x")),
        lambda: broker.enqueue_batch([_message("x")]),
    ):
        with pytest.raises(ConnectionClosed):
            ask()


def test_so_is_a_server_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rabbit_module, "_TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        broker = ConfirmingBroker(f"amqp://127.0.0.1:{silent.getsockname()[1]}/", [])
        for ask in (
            broker.backlog,
            lambda: broker.consume(QUEUE),
            lambda: broker.enqueue(_message("x")),
        ):
            with pytest.raises(ConnectionClosed):
                ask()


def test_so_are_a_wrong_password_and_a_wrong_virtual_host(rabbit: Rabbit) -> None:
    place = "{}:{}".format(*rabbit.place)
    right = rabbit.url.rpartition("/")[0]
    for url in (f"amqp://guest:wrong@{place}/%2F", f"{right}/there-is-no-such-virtual-host"):
        with pytest.raises(ConnectionClosed):
            ConfirmingBroker(url, []).enqueue(_message("x"))
