# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ScenarioLike,
    Text,
    Texts,
)
from lockstep.results import SensitivityResult

_SENSITIVITY = (
    ("scenario", "", "scenario"),
    ("set", "--set", "assignments"),
    ("figure", "--figure", "texts"),
    ("limit", "--limit", "integer"),
    ("elasticities", "--elasticities", "flag"),
    ("no_layout", "--no-layout", "flag"),
    ("spread", "--spread", "assignments"),
    ("no_spreads", "--no-spreads", "flag"),
    ("find", "--find", "text"),
    ("for_", "--for", "text"),
)


@command(SensitivityResult, "sensitivity", _SENSITIVITY)
def sensitivity(
    scenario: ScenarioLike,
    *,
    set: Optional[Assignments] = None,
    figure: Optional[Texts] = None,
    limit: Optional[int] = None,
    elasticities: bool = False,
    no_layout: bool = False,
    spread: Optional[Assignments] = None,
    no_spreads: bool = False,
    find: Optional[Text] = None,
    for_: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> SensitivityResult:
    """How a training step depends on every bandwidth, latency and rate.

    The command `lockstep sensitivity`.

    scenario: Scenario file, name of a shipped one, result of `run --format json`, or
        point of a store: plan.db:rank1 or plan.db:17
    set: Override a scenario value, e.g. parallel.tp=4; repeatable
    figure: A figure such as "nic bandwidth" or "matmul rate"; repeatable (default: all
        that the step has)
    limit: Ranges are searched from 1/N to N times the value, N from 1.01 to 100 (default:
        4)
    elasticities: Elasticities alone, without ranges and knees: four simulations a figure
    no_layout: Do not simulate changes of the layout
    spread: Uncertainty of a figure, e.g. "matmul rate=5%", instead of the one in
        configs/validation/spreads.json; repeatable
    no_spreads: Leave out how much of the step hangs on the uncertainty of each figure
    find: Find the least value of a figure (the longest of a latency) that `for_` needs;
        exit code 1 if there is none
    for_: Condition on a column of `run --format csv`, e.g. 'step_time <= 10 s'
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(SensitivityResult, "sensitivity", _SENSITIVITY, locals(), progress)
