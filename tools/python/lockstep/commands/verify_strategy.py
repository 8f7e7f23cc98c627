# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ScenarioLike,
    Text,
)
from lockstep.results import VerifyResult

_VERIFY_STRATEGY = (
    ("scenario", "", "scenario"),
    ("set", "--set", "assignments"),
    ("ranks", "--ranks,-n", "integer"),
    ("no_shrink", "--no-shrink", "flag"),
    ("steps", "--steps", "integer"),
    ("precision", "--precision", "text"),
    ("seed", "--seed", "integer"),
    ("backend", "--backend", "text"),
    ("devices", "--devices", "integer"),
    ("transport", "--transport", "text"),
)


@command(VerifyResult, "verify strategy", _VERIFY_STRATEGY)
def verify_strategy(
    scenario: ScenarioLike,
    *,
    set: Optional[Assignments] = None,
    ranks: Optional[int] = None,
    no_shrink: bool = False,
    steps: Optional[int] = None,
    precision: Optional[Text] = None,
    seed: Optional[int] = None,
    backend: Optional[Text] = None,
    devices: Optional[int] = None,
    transport: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> VerifyResult:
    """Train a shrunk scenario on real data and compare it with one device.

    The command `lockstep verify strategy`.

    scenario: Scenario file, or the name of a shipped one; its variants are verified too
    set: Override a scenario value, e.g. parallel.tp=4, and keep it from shrinking;
        repeatable
    ranks: Maximum number of ranks after shrinking (default 32)
    no_shrink: Execute the scenario's own model and degrees
    steps: Training steps (default 3)
    precision: float64: every weight within 1e-10; float32: with SGD, within 1e-5
        (default: float64)
    seed: Random seed of weights, data and execution order (default: the scenario's)
    backend: Backend that executes the strategy: host: command graphs in host memory;
        cuda: on GPUs, ranks distributed over them (default: the reference executor, also
        in simulated order)
    devices: Maximum number of GPUs, with `backend` (default: all)
    transport: Transport between GPUs, with `backend` cuda: peer-to-peer copies, or NCCL
        send and receive (default: copies)
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(VerifyResult, "verify strategy", _VERIFY_STRATEGY, locals(), progress)
