#
# _logging.py - messages in the trace: log(), and a handler for the module logging
#
# SPDX-License-Identifier: MIT

import logging

from ._posixtrace import Event

LEVELS = 'debug=10,info=20,warning=30,error=40,critical=50'

# Of the default --max-data of 1024 bytes.
event = Event('log', 'level=level', level=f'u8<{LEVELS}>', logger='z<=100', message='z<=900')


def log(message, level=logging.INFO, logger=''):
    """Records a message as the event "log", with a level of the module logging and the name of a logger."""
    if event:
        event(level, logger, message)


class Message(logging.Formatter):
    """The message, and the exception if there is one: level and logger are fields."""

    def format(self, record):
        message = record.getMessage()
        error = record.exc_info and record.exc_info[1]
        return f'{message}: {type(error).__name__}: {error}' if error else message


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
            message = record.msg
        event(record.levelno, record.name, message)
