# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ScenarioLike,
)
from lockstep.results import CompareResult

_COMPARE = (
    ("scenario", "", "scenario"),
    ("second", "", "scenario"),
    ("set", "--set", "assignments"),
    ("change", "--change", "assignments"),
    ("shapley", "--shapley", "integer"),
    ("details", "--details", "flag"),
)


@command(CompareResult, "compare", _COMPARE)
def compare(
    scenario: ScenarioLike,
    second: Optional[ScenarioLike] = None,
    *,
    set: Optional[Assignments] = None,
    change: Optional[Assignments] = None,
    shapley: Optional[int] = None,
    details: bool = False,
    progress: Optional[OnProgress] = None,
) -> CompareResult:
    """Explain why one training step takes longer than another.

    The command `lockstep compare`.

    scenario: Scenario file, name of a shipped one, result of `run --format json`, or
        point of a store: plan.db:rank1 or plan.db:17
    second: Second step
    set: Override a scenario value, e.g. parallel.tp=4, of both steps; repeatable
    change: Override a value of the second step only, which is the first one with these
        changes if no second scenario is given; repeatable
    shapley: Maximum number n of changes attributed by Shapley values, by 2^n simulations;
        more are attributed in sequence; 0: none is attributed (default: 6)
    details: Print all uses of the critical path, and its time by stage and block
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(CompareResult, "compare", _COMPARE, locals(), progress)
