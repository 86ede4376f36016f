#
# _logging.py - a handler for the module logging: messages in the trace
#
# SPDX-License-Identifier: MIT

import logging

from ._posixtrace import message_event

event = message_event()  # of log(), too


class Message(logging.Formatter):
    """The message, and the exception if there is one: level and logger are fields."""

    def format(self, record):
        message = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        return message if error is None else f'{message}: {type(error).__name__}: {error}'


class Handler(logging.Handler):
    """Records the messages of loggers, as the event "log". It prints nothing, and never fails."""

    def __init__(self, level=logging.NOTSET):
        super().__init__(level)
        self.setFormatter(Message())  # so basicConfig() does not give it another one

    def handle(self, record):
        # Without the lock of the handler: an event needs none.
        if event:
            chosen = self.filter(record)
            if isinstance(chosen, logging.LogRecord):  # from 3.12 on a filter may replace it
                record = chosen
            if chosen:
                self.emit(record)
            return chosen
        return False

    def emit(self, record):
        if not event:
            return
        try:
            message = self.format(record)
        except Exception:  # wrong arguments for the format: another handler reports them
            message = getattr(record, 'msg', '')
        # A record that a program has made by hand may lack anything.
        event(getattr(record, 'levelno', 0), getattr(record, 'name', ''), message)
