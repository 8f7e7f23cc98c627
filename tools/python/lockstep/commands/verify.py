# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional, Sequence, Union

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    SchedulesLike,
    Text,
    Texts,
)
from lockstep.results import VerifyResult

_VERIFY = (
    ("collective", "", "list"),
    ("algorithm", "--algorithm,-a", "list"),
    ("schedule", "--schedule", "schedules"),
    ("ranks", "--ranks,-n", "list"),
    ("ranks_per_node", "--ranks-per-node", "integer"),
    ("dims", "--dims", "dimensions"),
    ("size", "--size", "text"),
    ("count", "--count", "integer"),
    ("root", "--root,-r", "text"),
    ("slots", "--slots", "integer"),
    ("seed", "--seed", "integer"),
    ("backend", "--backend", "text"),
    ("devices", "--devices", "integer"),
    ("transport", "--transport", "text"),
    ("datatype", "--datatype,--type,-d", "text"),
)


@command(VerifyResult, "verify collective", _VERIFY)
def verify(
    collective: Optional[Texts] = None,
    *,
    algorithm: Optional[Texts] = None,
    schedule: Optional[SchedulesLike] = None,
    ranks: Optional[Texts] = None,
    ranks_per_node: Optional[int] = None,
    dims: Optional[Union[str, Sequence[int]]] = None,
    size: Optional[Text] = None,
    count: Optional[int] = None,
    root: Optional[Text] = None,
    slots: Optional[int] = None,
    seed: Optional[int] = None,
    backend: Optional[Text] = None,
    devices: Optional[int] = None,
    transport: Optional[Text] = None,
    datatype: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> VerifyResult:
    """Execute schedules on symbols, integers and random floats.

    The command `lockstep verify collective`.

    collective: Such as all_reduce; all: every collective. With `schedule` it may be left
        out
    algorithm: One or several, separated by commas, with parameters as in ring:channels=2;
        all: all that this number of ranks allows (default: all)
    schedule: MSCCL XML file with a schedule to compare; repeatable
    ranks: Rank counts: 8, 2..16 or 2,4,8..10 (default: 8)
    ranks_per_node: Consecutive ranks that share a node and its switch (default 1)
    dims: Dimensions of a torus, as in 8x4; their product is the number of ranks
    size: Message size in bytes (default: three elements per chunk, less one)
    count: Message size in elements
    root: Root of broadcast, reduce, scatter and gather; all: each in turn (default: 0)
    slots: Messages in flight per connection; 0: rendezvous (default: the schedule's)
    seed: Random seed of the data and of the execution order (default 1)
    backend: Backend that executes the schedule: host: command graphs in host memory;
        cuda: on GPUs, ranks distributed over them (default: the reference executor)
    devices: Maximum number of GPUs, with `backend` (default: all)
    transport: Transport between GPUs, with `backend` cuda: peer-to-peer copies, or NCCL
        send and receive (default: copies)
    datatype: Element type, as nccl-tests names them: float, or with `backend` bfloat16
        and half; sets the error bound (default: float)
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(VerifyResult, "verify collective", _VERIFY, locals(), progress)
