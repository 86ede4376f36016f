import asyncio
import contextlib
import logging
from typing import Any, Callable, Iterable, Optional, TypeVar, Union, overload

from ._log_reader import (
    Log as Log, LogEvent as LogEvent, LogType as LogType, Loss as Loss, LossError as LossError,
    LossWarning as LossWarning, Meaning as Meaning, live as live, open as open,
)
from ._posixtrace import (
    Event as Event, Span as Span, counter as counter, enabled as enabled, log as log, span as span,
)

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Patterns = Union[str, Iterable[str]]

class Handler(logging.Handler):
    def __init__(self, level: int = ...) -> None: ...

class functions(contextlib.ContextDecorator):
    def __init__(self, include: _Patterns = ..., exclude: _Patterns = ..., wait: bool = ...) -> None: ...
    def __enter__(self) -> "functions": ...
    def __exit__(self, *exception: object) -> None: ...

def tasks(loop: Optional[asyncio.AbstractEventLoop] = ...) -> None: ...
@overload
def traced(function: _Function, *, name: Optional[str] = ...) -> _Function: ...
@overload
def traced(function: Optional[str] = ..., *, name: Optional[str] = ...) -> Callable[[_Function], _Function]: ...
