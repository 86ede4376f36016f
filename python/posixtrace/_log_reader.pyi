import array
import datetime
import os
from types import TracebackType
from typing import (
    Any, BinaryIO, Callable, Dict, Generic, Iterable, Iterator, List, Literal, NamedTuple, Optional, Protocol, Tuple,
    Type, TypeVar, Union, final, overload,
)

_Default = TypeVar("_Default")
_Item = TypeVar("_Item")

class _HasDescriptor(Protocol):
    def fileno(self) -> int: ...

class _HasPid(Protocol):
    @property
    def pid(self) -> int: ...

class _HasBytes(Protocol):
    def read(self) -> bytes: ...

_Log = Union[str, "os.PathLike[str]", int, bytes, bytearray, memoryview, BinaryIO, _HasDescriptor, _HasBytes]
_Process = Union[int, _HasPid]
_Time = Union[int, float, datetime.datetime]

class LossWarning(UserWarning): ...
class LossError(Exception): ...

class Field(NamedTuple):
    name: str
    unit: str
    kind: str
    size: int
    array: bool
    count: int  # type: ignore[assignment]
    labels: Dict[str, int]
    bits: bool

class Meaning(NamedTuple):
    begin: Optional[str]
    end: Optional[str]
    span: Optional[str]
    took: Optional[str]
    by: Optional[str]
    counters: Tuple[str, ...]
    send: Optional[str]
    receive: Optional[str]
    level_field: Optional[str]
    level: Optional[str]

class Loss(NamedTuple):
    time: int
    relative: int
    reason: str
    count: int  # type: ignore[assignment]
    at_least: bool
    start: int
    end: int
    source: int

class Module(NamedTuple):
    start: int
    end: int
    offset: int
    time: int
    path: str
    build_id: bytes

class Process(NamedTuple):
    pid: int
    parent: int
    time: int
    executable: str
    name: str
    command: List[str]
    machine: int
    modules: List[Module]

class Thread(NamedTuple):
    pid: int
    tid: int
    name: str
    events: int
    machine: int

class About:
    path: str
    name: str
    generator: str
    host: str
    kernel: str
    machine: str
    boot: bytes
    created: int
    created_monotonic: int
    resolution: int
    target: int
    creator: int
    word: int
    children: bool
    stream_policy: int
    log_policy: int
    stream_size: int
    log_size: int
    data_size: int
    bytes: int
    skipped: int
    complete: bool
    closed: bool
    error: int
    machine_index: int
    lost: int
    overwritten: int
    discarded: int
    unwritten: int
    damaged: int
    events: int
    first: int
    last: int
    losses: int
    live: bool
    ended: bool
    id: int
    generation: int
    unknown: int
    labels: dict[str, str]

class Column(array.array[Any]): ...

@final
class LogType:
    @property
    def name(self) -> str: ...
    @property
    def layout(self) -> str: ...
    @property
    def wrong(self) -> Optional[str]: ...
    @property
    def fields(self) -> Tuple[Field, ...]: ...
    @property
    def meaning(self) -> Meaning: ...
    @property
    def index(self) -> int: ...
    @property
    def system(self) -> bool: ...

@final
class LogEvent:
    @property
    def time(self) -> int: ...
    @property
    def relative(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> LogType: ...
    @property
    def fields(self) -> Dict[str, Any]: ...
    @property
    def level(self) -> Optional[str]: ...
    @property
    def took(self) -> Optional[int]: ...
    @property
    def thread(self) -> str: ...
    @property
    def process(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def tid(self) -> int: ...
    @property
    def address(self) -> int: ...
    @property
    def pthread(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def rest(self) -> bytes: ...
    @property
    def source(self) -> int: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def __contains__(self, name: object, /) -> bool: ...
    @overload
    def get(self, name: str, /) -> Any: ...
    @overload
    def get(self, name: str, default: _Default, /) -> Any: ...

class Log(Generic[_Item]):
    def __enter__(self) -> "Log[_Item]": ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...
    def __iter__(self) -> Iterator[_Item]: ...
    @property
    def closed(self) -> bool: ...
    @property
    def live(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    def wait(self, timeout: Optional[float] = ...) -> bool: ...
    @property
    def losses(self) -> List[Loss]: ...
    @property
    def complete(self) -> Optional[bool]: ...
    @property
    def about(self) -> List[About]: ...
    @property
    def types(self) -> List[LogType]: ...
    @property
    def counts(self) -> Dict[LogType, int]: ...
    @property
    def processes(self) -> List[Process]: ...
    @property
    def threads(self) -> List[Thread]: ...
    def scan(self) -> "Log[_Item]": ...
    def close(self) -> None: ...
    def columns(self, event: Union[str, LogType], /, *names: str) -> Dict[str, Any]: ...

@overload
def open(
    *logs: _Log,
    events: Union[str, Iterable[str], None] = ...,
    pid: Union[int, Iterable[int], None] = ...,
    tid: Union[int, Iterable[int], None] = ...,
    thread: Union[str, Iterable[str], None] = ...,
    start: Optional[_Time] = ...,
    end: Optional[_Time] = ...,
    where: Optional[Callable[[LogEvent], object]] = ...,
    losses: Literal["warn", "raise", "ignore"] = ...,
    system: bool = ...,
) -> Log[LogEvent]: ...
@overload
def open(
    *logs: _Log,
    events: Union[str, Iterable[str], None] = ...,
    pid: Union[int, Iterable[int], None] = ...,
    tid: Union[int, Iterable[int], None] = ...,
    thread: Union[str, Iterable[str], None] = ...,
    start: Optional[_Time] = ...,
    end: Optional[_Time] = ...,
    where: Optional[Callable[[LogEvent], object]] = ...,
    losses: Literal["items"],
    system: bool = ...,
) -> Log[Union[LogEvent, Loss]]: ...
@overload
def live(
    *processes: _Process,
    timeout: Optional[float] = ...,
    children: bool = ...,
    stream_size: int = ...,
    data_size: int = ...,
    despite_seccomp: bool = ...,
    events: Union[str, Iterable[str], None] = ...,
    tid: Union[int, Iterable[int], None] = ...,
    thread: Union[str, Iterable[str], None] = ...,
    end: Optional[_Time] = ...,
    where: Optional[Callable[[LogEvent], object]] = ...,
    losses: Literal["warn", "raise", "ignore"] = ...,
    system: bool = ...,
) -> Log[LogEvent]: ...
@overload
def live(
    *processes: _Process,
    timeout: Optional[float] = ...,
    children: bool = ...,
    stream_size: int = ...,
    data_size: int = ...,
    despite_seccomp: bool = ...,
    events: Union[str, Iterable[str], None] = ...,
    tid: Union[int, Iterable[int], None] = ...,
    thread: Union[str, Iterable[str], None] = ...,
    end: Optional[_Time] = ...,
    where: Optional[Callable[[LogEvent], object]] = ...,
    losses: Literal["items"],
    system: bool = ...,
) -> Log[Union[LogEvent, Loss]]: ...
