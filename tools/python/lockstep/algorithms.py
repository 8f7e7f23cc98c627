"""Own algorithms: a Python function as the schedule of a collective.

>>> def ring(rank, ranks):
...     to, source = (rank + 1) % ranks, (rank - 1) % ranks
...     for step in range(ranks - 1):
...         yield send(to, (rank - step) % ranks), receive(source, (rank - step - 1) % ranks)
>>> own = schedule(ring, "all_gather", ranks=4)
>>> own.verify().ok
True
>>> own.collective(size="1M").rows[0].rounds
3
"""

from __future__ import annotations

import os
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

from lockstep import _native, commands
from lockstep._errors import RequestError
from lockstep.results import CollectiveResult, ExplainResult, VerifyResult

__all__ = ["Copy", "Receive", "Schedule", "Send", "receive", "schedule", "send"]


class Send(NamedTuple):
    """Blocks that a rank sends, as they are at the start of the step."""

    peer: int
    block: int
    blocks: int = 1
    buffer: str = "data"
    channel: int = 0


class Receive(NamedTuple):
    """Blocks that a rank receives; `reduce`: adds them to what is there."""

    peer: int
    block: int
    blocks: int = 1
    buffer: str = "data"
    reduce: bool = False
    channel: int = 0


class Copy(NamedTuple):
    """Blocks that a rank copies or adds within itself, after the transfers of the step."""

    block: int
    to_block: int
    blocks: int = 1
    buffer: str = "data"
    to_buffer: str = "data"
    reduce: bool = False


Action = Union[Send, Receive, Copy]
#: What a function yields for one step: one action or several, which go on at once.
Step = Union[Action, Iterable[Action]]
Algorithm = Callable[..., Iterable[Step]]

_BUFFERS = ("data", "output", "scratch")


def send(to: int, block: int, blocks: int = 1, *, buffer: str = "data", channel: int = 0) -> Send:
    """Sends `blocks` blocks from `block` on to rank `to`."""
    return Send(to, block, blocks, buffer, channel)


def receive(
    source: int,
    block: int,
    blocks: int = 1,
    *,
    reduce: bool = False,
    buffer: str = "data",
    channel: int = 0,
) -> Receive:
    """Receives `blocks` blocks into those from `block` on, from rank `source`."""
    return Receive(source, block, blocks, buffer, reduce, channel)


class Schedule:
    """A schedule of a collective; `collective(schedule=...)` and `verify(schedule=...)` take it."""

    __slots__ = ("_msccl", "_name", "_ranks", "_what")
    _msccl: str
    _name: str
    _ranks: int
    _what: str

    def __init__(self, msccl: str, *, name: str, collective: str, ranks: int) -> None:
        for field, value in (
            ("_msccl", msccl), ("_name", name), ("_what", collective), ("_ranks", ranks),
        ):  # fmt: skip
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Schedule does not change")

    @property
    def name(self) -> str:
        return self._name

    @property
    def ranks(self) -> int:
        return self._ranks

    def to_msccl(self) -> str:
        """The schedule as MSCCL XML."""
        return self._msccl

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the MSCCL XML."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._msccl)

    def verify(self, **options: Any) -> VerifyResult:
        """`verify()` of this schedule: on symbols, integers and random floats. Raises
        NegativeResult if it is wrong."""
        return commands.verify(schedule=self, **options)

    def explain(self, **options: Any) -> ExplainResult:
        """`explain()` of this schedule: every round and its cost."""
        options.setdefault("ranks", None if _sized(options) else self._ranks)
        return commands.explain(self._what, schedule=self, **options)

    def collective(self, **options: Any) -> CollectiveResult:
        """`collective()` of this schedule; `algorithm=...` adds others to compare with."""
        options.setdefault("cluster", "star")
        options.setdefault("ranks", None if _sized(options) else self._ranks)
        if options.get("algorithm"):
            return commands.collective(self._what, schedule=self, **options)
        return commands.collective(schedule=self, **options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self._msccl == other._msccl

    def __hash__(self) -> int:
        return hash(self._msccl)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _schedule_of, (self._msccl, self._name, self._what, self._ranks)

    def __repr__(self) -> str:
        return f"<Schedule {self._name}: {self._what} of {self._ranks} ranks>"


def _sized(options: Dict[str, Any]) -> bool:
    """Whether the cluster has its size by itself."""
    cluster = options.get("cluster", "star")
    return options.get("nodes") is not None or cluster != "star"


def _schedule_of(msccl: str, name: str, collective: str, ranks: int) -> Schedule:
    return Schedule(msccl, name=name, collective=collective, ranks=ranks)


class _Checked:
    """The actions of all ranks, with problems named by rank and step."""

    def __init__(self, ranks: int, blocks: int) -> None:
        self.ranks = ranks
        self.blocks = blocks
        self.scratch = [0] * ranks
        self.sends: Dict[Tuple[int, int, int], List[Tuple[int, int]]] = {}
        self.receives: Dict[Tuple[int, int, int], List[Tuple[int, int]]] = {}

    def step(self, rank: int, index: int, yielded: Step) -> List[Action]:
        place = f"rank {rank}, step {index}: "
        if isinstance(yielded, (Send, Receive, Copy)):
            actions: List[Action] = [yielded]
        elif isinstance(yielded, Iterable):
            actions = list(yielded)
        else:
            raise RequestError(f"{place}expected send(), receive() or Copy(), got {yielded!r}")
        for action in actions:
            if not isinstance(action, (Send, Receive, Copy)):
                raise RequestError(f"{place}expected send(), receive() or Copy(), got {action!r}")
            self._check(rank, index, action, place)
        return actions

    def _check(self, rank: int, index: int, action: Action, place: str) -> None:
        if action.blocks < 1:
            raise RequestError(f"{place}expected 1 block or more, got {action.blocks}")
        self._check_run(rank, action.buffer, action.block, action.blocks, place)
        if isinstance(action, Copy):
            self._check_run(rank, action.to_buffer, action.to_block, action.blocks, place)
            return
        if not 0 <= action.peer < self.ranks or action.peer == rank:
            raise RequestError(
                f"{place}expected a peer from 0 to {self.ranks - 1} other than {rank}, "
                f"got {action.peer}"
            )
        is_send = isinstance(action, Send)
        ends = (rank, action.peer) if is_send else (action.peer, rank)
        lists = self.sends if is_send else self.receives
        lists.setdefault((*ends, action.channel), []).append((index, action.blocks))

    def _check_run(self, rank: int, buffer: str, first: int, count: int, place: str) -> None:
        if buffer not in _BUFFERS:
            raise RequestError(f"{place}expected a buffer {', '.join(_BUFFERS)}, got {buffer!r}")
        if buffer == "scratch" and first >= 0:
            self.scratch[rank] = max(self.scratch[rank], first + count)
        elif first < 0 or first + count > self.blocks:
            raise RequestError(
                f"{place}block {first if first < 0 else first + count - 1} is not one of "
                f"{self.blocks} blocks"
            )

    def match(self) -> None:
        """The k-th send to a peer on a channel is the k-th receive there."""
        for key in sorted({*self.sends, *self.receives}):
            sends, receives = self.sends.get(key, []), self.receives.get(key, [])
            source, to, channel = key
            ends = f"rank {source} to rank {to}" + (f" on channel {channel}" if channel else "")
            for (step, count), (there, wanted) in zip(sends, receives):
                if count != wanted:
                    raise RequestError(
                        f"{ends}: {count} blocks are sent in step {step}, {wanted} are received "
                        f"in step {there}"
                    )
            if len(sends) > len(receives):
                raise RequestError(
                    f"rank {source}, step {sends[len(receives)][0]}: no receive for this send to "
                    f"rank {to}; {ends}: {len(sends)} sends, {len(receives)} receives"
                )
            if len(sends) < len(receives):
                raise RequestError(
                    f"rank {to}, step {receives[len(sends)][0]}: no send for this receive from "
                    f"rank {source}; {ends}: {len(sends)} sends, {len(receives)} receives"
                )


def schedule(
    function: Algorithm,
    collective: str,
    ranks: int,
    *,
    blocks: Optional[int] = None,
    root: int = 0,
    result: str = "data",
    slots: int = 0,
    name: Optional[str] = None,
    **parameters: Any,
) -> Schedule:
    """The schedule of a function that is called as `function(rank, ranks, **parameters)` for each
    rank and yields what the rank does step by step: `send()`, `receive()`, `Copy`, or several of
    them, which go on at once. A step ends when all of its transfers have.

    The message is divided into `blocks` equal blocks (default: one per rank); rank r's own part are
    those from r * blocks / ranks on, at that place in the buffer. `result`: the buffer with the
    result, "output" for all_to_all. `slots`: messages in flight between two ranks; 0: a send waits
    for its receive, as in the shipped algorithms."""
    count = ranks if blocks is None else blocks
    if ranks < 1 or count < 1:
        raise RequestError(f"expected ranks and blocks of 1 or more, got {ranks} and {count}")
    if result not in _BUFFERS[:2]:
        raise RequestError(f"result: expected data or output, got {result!r}", "result")
    checked = _Checked(ranks, count)
    steps: List[List[List[Tuple[Any, ...]]]] = []
    title: str = name or str(getattr(function, "__name__", "own"))
    for rank in range(ranks):
        made = [
            checked.step(rank, index, yielded)
            for index, yielded in enumerate(_yielded(function, rank, ranks, parameters))
        ]
        steps.append([[_plain(action) for action in actions] for actions in made])
    checked.match()
    xml = _native.write_msccl(
        collective, count, checked.scratch, result, root, slots, title, steps
    )
    return Schedule(xml, name=title, collective=collective, ranks=ranks)


def _yielded(
    function: Algorithm, rank: int, ranks: int, parameters: Dict[str, Any]
) -> Iterator[Step]:
    """What the function yields. Its own exceptions get a note of rank and step."""
    index = 0
    try:
        steps = function(rank, ranks, **parameters)
        if not isinstance(steps, Iterable):
            raise RequestError(
                f"rank {rank}: expected a function that yields steps, or a list of them, got "
                f"{steps!r}"
            )
        for yielded in steps:
            yield yielded
            index += 1
    except RequestError:
        raise
    except Exception as error:
        if hasattr(error, "add_note"):  # since Python 3.11
            error.add_note(f"in rank {rank}, step {index} of the schedule")
        raise


def _plain(action: Action) -> Tuple[Any, ...]:
    """kind, peer, buffer, block, count, reduce, channel, to_buffer, to_block"""
    index = _BUFFERS.index(action.buffer)
    if isinstance(action, Send):
        return (0, action.peer, index, action.block, action.blocks, False, action.channel, 0, 0)
    if isinstance(action, Receive):
        return (
            1, action.peer, index, action.block, action.blocks, action.reduce, action.channel, 0, 0,
        )  # fmt: skip
    to = _BUFFERS.index(action.to_buffer)
    return (2, 0, index, action.block, action.blocks, action.reduce, 0, to, action.to_block)
