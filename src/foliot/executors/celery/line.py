"""The line to the broker: a connection of our own, which a thread uses.

Nothing is repeated behind our back: kombu and its drivers are told not to. What fails before the message is
handed to the driver was not sent. What fails later may have been, unless the broker itself has said no.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from kombu.exceptions import SerializationError, SerializerNotInstalled

from foliot.executors.celery.errors import EnqueueError, EnqueueRefusedError, EnqueueUnknownError
from foliot.executors.celery.message import Letter, Message, make_message, priorities_of

_NOT_CONNECTED = (ConnectionRefusedError, socket.gaierror, FileNotFoundError, PermissionError)
_MOST_OPERATIONS = 1_000_000  # of a batch: kombu sends none before all are there
_NOT_SENT = "the broker did not answer in time"
_SHARE = 0.8  # of the deadline: a driver that gives up by itself tells more than ours does


class Batch:
    """Letters that are sent together. A thread sends them; the loop may stop it at any time."""

    def __init__(self, letters: Sequence[Letter]) -> None:
        self.letters = letters
        self.queues: list[str] = [""] * len(letters)
        self._errors: dict[int, EnqueueError | None] = {}  # of those that have ended
        self._begun: set[int] = set()
        self._is_stopped = False
        self._lock = threading.Lock()

    @property
    def waiting(self) -> list[int]:
        """The places of the letters that are to be sent."""
        with self._lock:
            places = range(len(self.letters))
            return [n for n in places if n not in self._begun and n not in self._errors]

    def begin(self, places: Sequence[int]) -> bool:
        """Hand these to the driver, unless it is too late for that."""
        with self._lock:
            if not self._is_stopped:
                self._begun.update(places)
            return not self._is_stopped

    def end(self, place: int, error: EnqueueError | None) -> None:
        """The broker has it, or there is an error."""
        with self._lock:
            if not self._is_stopped:
                self._errors[place] = error

    def end_rest(self, error: BaseException) -> None:
        """None of those that have not begun is sent."""
        for place in self.waiting:
            self.end(place, EnqueueRefusedError(self.letters[place].call.task, error))

    def outcomes(self) -> list[EnqueueError | None]:
        """What has become of each. From now on nothing more is handed to the driver."""
        with self._lock:
            self._is_stopped = True
            return [self._outcome(place) for place in range(len(self.letters))]

    def _outcome(self, place: int) -> EnqueueError | None:
        if place in self._errors:
            return self._errors[place]
        error = EnqueueUnknownError if place in self._begun else EnqueueRefusedError
        return error(self.letters[place].call.task, _NOT_SENT)


class Line:
    """A connection to the broker of a Celery application. One thread uses it at a time."""

    def __init__(self, app: Any, timeout: timedelta, priorities: Mapping[str, int] | None = None) -> None:
        self._app = app
        self._timeout = timeout
        self._priorities = priorities
        self._producer: Any = None

    def send(self, batch: Batch) -> None:
        """Send letters. After an error the connection is given up: a late answer may still come on it."""
        try:
            producer = self._open()
            messages = dict(self._prepared(batch))
            if len(messages) > 1 and getattr(producer, "supports_batch_publish", False):
                self._send_together(producer, batch, messages)
            else:
                self._send_each(batch, messages)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - a handler of Celery's signals may raise anything
            batch.end_rest(error)
            self.close()

    def close(self) -> None:
        """Let go of the connection; the next letter gets a new one."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(Exception):  # it may be broken
                producer.connection.close()

    def _open(self) -> Any:
        if self._producer is None:
            connection = open_connection(self._app, self._timeout)
            self._producer = self._app.amqp.Producer(connection, auto_declare=False)
            hosts = max(1, len(connection.alt))  # each is tried once
            connection.ensure_connection(max_retries=hosts - 1, interval_start=0)
            _ = self._producer.channel  # it is made when it is first needed, and asks the broker
        return self._producer

    def _prepared(self, batch: Batch) -> Iterator[tuple[int, Message]]:
        driver = self._producer.connection.transport.driver_type
        priorities = {**priorities_of(driver), **(self._priorities or {})}
        for place in batch.waiting:
            letter = batch.letters[place]
            try:
                message = make_message(self._app, letter, priorities)
            except Exception as error:  # noqa: BLE001 - no queue, no such serializer, arguments that do not fit
                batch.end(place, EnqueueRefusedError(letter.call.task, error, is_final=True))
            else:
                batch.queues[place] = message.queue
                yield place, message

    def _send_together(self, producer: Any, batch: Batch, messages: Mapping[int, Message]) -> None:
        """In one round trip. If that fails, it is not known which of them are there."""
        begun: list[int] = []
        try:
            with producer.batch(max_size=_MOST_OPERATIONS):
                for place, message in messages.items():
                    if self._hand_over(producer, batch, place, message):
                        begun.append(place)
                if not batch.begin(begun):
                    raise TimeoutError(_NOT_SENT)  # noqa: TRY301 - so that nothing of it is sent
        except Exception as error:
            for place in begun:
                batch.end(place, self._judge(batch.letters[place], error))
            raise
        for place in begun:
            batch.end(place, None)

    def _send_each(self, batch: Batch, messages: Mapping[int, Message]) -> None:
        for place, message in messages.items():
            producer = self._open()
            if not batch.begin([place]):
                return
            try:
                is_sent = self._hand_over(producer, batch, place, message)
            except Exception as error:
                batch.end(place, self._judge(batch.letters[place], error))
                if not isinstance(error, producer.connection.channel_errors):
                    raise
                self.close()  # the broker has said no to this one, and may take the next
            else:
                if is_sent:
                    batch.end(place, None)

    def _hand_over(self, producer: Any, batch: Batch, place: int, message: Message) -> bool:
        """Whether it could be written. What cannot be written harms no other."""
        try:
            self._app.amqp.send_task_message(
                producer, message.task, message.message, **{**message.options, "retry": False}
            )
        except (SerializationError, SerializerNotInstalled) as error:
            batch.end(place, EnqueueRefusedError(message.task, error, is_final=True))
            return False
        return True

    def _judge(self, letter: Letter, error: Exception) -> EnqueueError:
        """Whether the broker has refused it, or cannot be known to have it."""
        answers = self._producer.connection.channel_errors
        is_answer = isinstance(error, answers) or any(isinstance(e, _NOT_CONNECTED) for e in _chain(error))
        return (EnqueueRefusedError if is_answer else EnqueueUnknownError)(letter.call.task, error)


def open_connection(app: Any, timeout: timedelta) -> Any:
    """A connection to the broker that gives up in time, and repeats nothing by itself."""
    seconds = timeout.total_seconds() * _SHARE
    options: dict[str, Any] = {"max_retries": 0, "interval_start": 0}
    connection = app.connection_for_write(connect_timeout=seconds)
    if connection.transport.driver_type == "redis":
        options |= {
            "socket_timeout": seconds, "socket_connect_timeout": seconds, "retry_on_timeout": False,
        }  # fmt: skip
    elif connection.transport.driver_type == "amqp":
        options |= {"read_timeout": seconds, "write_timeout": seconds}
    return app.connection_for_write(connect_timeout=seconds, transport_options=options)


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
