# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    Pairs,
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
    ("set_rank", "--set-rank", "pairs"),
    ("gpu_speed", "--gpu-speed", "assignments"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("nic", "--nic", "text"),
    ("seed", "--seed", "integer"),
    ("fidelity", "--fidelity", "text"),
    ("fold", "--fold", "text"),
    ("network", "--network", "text"),
    ("calibration", "--calibration", "text"),
    ("ignore_memory", "--ignore-memory", "flag"),
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
    set_rank: Optional[Pairs] = None,
    gpu_speed: Optional[Assignments] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    nic: Optional[Text] = None,
    seed: Optional[int] = None,
    fidelity: Optional[Text] = None,
    fold: Optional[Text] = None,
    network: Optional[Text] = None,
    calibration: Optional[Text] = None,
    ignore_memory: bool = False,
    progress: Optional[OnProgress] = None,
) -> SensitivityResult:
    """How a training step depends on every bandwidth, latency and rate.

    The command `lockstep sensitivity`.

    scenario: Scenario file, name of a shipped one, result of `run --format json`, or
        point of a store: plan.db:rank1 or plan.db:17
    set: Override a scenario value, e.g. parallel.tp=4; repeatable
    figure: A parameter such as "nic bandwidth" or "matmul rate"; repeatable (default: all
        that the step has)
    limit: Ranges are searched from 1/N to N times the value, N from 1.01 to 100 (default:
        4)
    elasticities: Elasticities alone, without ranges and knees: four simulations a
        parameter
    no_layout: Do not simulate changes of the layout
    spread: Uncertainty of a parameter, e.g. "matmul rate=5%", instead of the one in
        configs/validation/spreads.json; repeatable
    no_spreads: Leave out how much of the step hangs on the uncertainty of each parameter
    find: Find the least value of a parameter (the longest of a latency) that `for_`
        needs; exit code 1 if there is none
    for_: Condition on a column of `run --format csv`, e.g. 'step_time <= 10 s'
    set_rank: Relative compute speed of ranks: 17, 0..7, 3,9,12..15, all, or random:1% of
        all (to the nearest, at least one), drawn with `seed` among those not drawn
        before; SETTINGS are compute=0.8, drawn for each rank as compute=0.9..0.99
        (uniform) or compute=normal(0.95,0.02) (mean and standard deviation), to a
        thousandth, and, for a time of the step, from="1 s" and until="2 s", separated by
        commas; 17=0.8 is short for 17 compute=0.8; repeatable
    gpu_speed: Relative compute speed of GPUs: all=0.95, 0..63=0.9, 3,17=0.8, or
        random:1%=0.95 of as many ranks (to the nearest, at least one), drawn with `seed`;
        speeds are drawn as for `set_rank`; repeatable, the later one counts
    set_link: Change a link ("node0/gpu3 -> node0/nvswitch0", with -- for both directions)
        or all links of a switch, NIC, node or rail ("rail0"); SETTINGS are bandwidth=50%
        or bandwidth="25 GB/s" and latency="5 us", separated by commas; repeatable
    fail: Remove a link, or all links of a switch, NIC, node or rail, and reroute;
        repeatable
    nic: Speed of every NIC and fabric link, e.g. 200G
    seed: Seed of ranks and speeds that are drawn, instead of the scenario's (default: 1)
    fidelity: all: every rank and transfer on one network; representatives: one rank of
        each role; auto: all where that is quick, folded or not (default: auto)
    fold: auto: equivalent ranks are simulated once, to the same picosecond; off:
        individually (default: auto)
    network: fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole
        messages, first in first out (default: fluid)
    calibration: Calibration, a file or the name of a shipped one, that overrides the
        shipped parameters: kernel times of one machine (and NVLinks, if it has several
        GPUs), or a fit to results (`calibrate --from`)
    ignore_memory: Simulate even if the memory of a rank does not fit
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(SensitivityResult, "sensitivity", _SENSITIVITY, locals(), progress)
