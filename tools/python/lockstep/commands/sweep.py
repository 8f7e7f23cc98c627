# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ClusterLike,
    ModelLike,
    Pairs,
    ScenarioLike,
    Text,
    Texts,
)
from lockstep.results import SweepResult

_SWEEP = (
    ("scenario", "", "scenario"),
    ("model", "--model", "model"),
    ("cluster", "--cluster", "cluster"),
    ("gpu", "--gpu", "text"),
    ("nodes", "--nodes", "integer"),
    ("gpus", "--gpus", "integer"),
    ("global_batch", "--global-batch", "integer"),
    ("seq", "--seq", "integer"),
    ("tokens", "--tokens", "text"),
    ("precision", "--precision", "text"),
    ("stack", "--stack", "text"),
    ("set", "--set", "assignments"),
    ("vary", "--vary", "vary"),
    ("fix", "--fix", "assignments"),
    ("gpu_speed", "--gpu-speed", "assignments"),
    ("seed", "--seed", "integer"),
    ("nic", "--nic", "text"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("fidelity", "--fidelity", "text"),
    ("network", "--network", "text"),
    ("calibration", "--calibration", "text"),
    ("ignore_memory", "--ignore-memory", "flag"),
    ("fold", "--fold", "text"),
    ("set_rank", "--set-rank", "pairs"),
    ("threads", "--threads", "integer"),
    ("append", "--append", "text"),
    ("store", "--store", "text"),
    ("resume", "--resume", "flag"),
)


@command(SweepResult, "sweep", _SWEEP)
def sweep(
    scenario: Optional[ScenarioLike] = None,
    *,
    model: Optional[ModelLike] = None,
    cluster: Optional[ClusterLike] = None,
    gpu: Optional[Text] = None,
    nodes: Optional[int] = None,
    gpus: Optional[int] = None,
    global_batch: Optional[int] = None,
    seq: Optional[int] = None,
    tokens: Optional[Text] = None,
    precision: Optional[Text] = None,
    stack: Optional[Text] = None,
    set: Optional[Assignments] = None,
    vary: Optional[Assignments] = None,
    fix: Optional[Assignments] = None,
    gpu_speed: Optional[Assignments] = None,
    seed: Optional[int] = None,
    nic: Optional[Text] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    fidelity: Optional[Text] = None,
    network: Optional[Text] = None,
    calibration: Optional[Text] = None,
    ignore_memory: bool = False,
    fold: Optional[Text] = None,
    set_rank: Optional[Pairs] = None,
    threads: Optional[int] = None,
    append: Optional[Text] = None,
    store: Optional[Text] = None,
    resume: bool = False,
    progress: Optional[OnProgress] = None,
) -> SweepResult:
    """Simulate a training step at every point of a grid of values.

    The command `lockstep sweep`.

    scenario: Scenario file or the name of a shipped one; or `model` and `cluster`
    model: Model: name of a shipped one, a model file or a Hugging Face config.json
    cluster: Cluster: name of a shipped one or a file
    gpu: Device instead of the cluster's: name or file
    nodes: Number of nodes
    gpus: Number of GPUs, instead of nodes
    global_batch: Sequences per step
    seq: Tokens per sequence
    tokens: Training tokens, e.g. 15T; for days and cost
    precision: Precision of linear layers, e.g. bf16 or fp8
    stack: Software stack (see `lockstep list stacks`)
    set: Override a scenario value, e.g. parallel.bucket="100 MB"; repeatable
    vary: Axis: a key and its values, e.g. tp=1,2,4,8, pp=1..16*2, tp=divisors or
        cluster.nodes=8..512*2, or keys that go together, e.g.
        nodes:global_batch=8,16:256,512; repeatable
    fix: Key of one value, e.g. zero=1; repeatable
    gpu_speed: Relative compute speed of GPUs: all=0.95, 0..63=0.9, 3,17=0.8, or
        random:1%=0.95 of as many ranks (to the nearest, at least one), drawn with `seed`;
        speeds are drawn as for `set_rank`; repeatable, the later one counts
    seed: Seed of ranks and speeds that are drawn, instead of the scenario's (default: 1)
    nic: Speed of every NIC and fabric link, e.g. 200G
    set_link: Change a link ("node0/gpu3 -> node0/nvswitch0", with -- for both directions)
        or all links of a switch, NIC, node or rail ("rail0"); SETTINGS are bandwidth=50%
        or bandwidth="25 GB/s" and latency="5 us", separated by commas; repeatable
    fail: Remove a link, or all links of a switch, NIC, node or rail, and reroute;
        repeatable
    fidelity: all: every rank and transfer on one network; representatives: one rank of
        each role; auto: all where that is quick, folded or not (default: auto)
    network: fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole
        messages, first in first out (default: fluid)
    calibration: Calibration, a file or the name of a shipped one, that overrides the
        shipped parameters: kernel times of one machine (and NVLinks, if it has several
        GPUs), or a fit to results (`calibrate --from`)
    ignore_memory: Simulate even if the memory of a rank does not fit
    fold: auto: equivalent ranks are simulated once, to the same picosecond; off:
        individually (default: auto)
    set_rank: Relative compute speed of ranks: 17, 0..7, 3,9,12..15, all, or random:1% of
        all (to the nearest, at least one), drawn with `seed` among those not drawn
        before; SETTINGS are compute=0.8, drawn for each rank as compute=0.9..0.99
        (uniform) or compute=normal(0.95,0.02) (mean and standard deviation), to a
        thousandth, and, for a time of the step, from="1 s" and until="2 s", separated by
        commas; 17=0.8 is short for 17 compute=0.8; repeatable
    threads: Number of threads; results do not depend on it (default: one for each core)
    append: Append the rows to a CSV file, with a header if the file is new
    store: SQLite file that takes the rows (see `lockstep query`); rows then have the
        columns of tables in every format
    resume: Continue the sweep of `store`, or begin it: no point is simulated twice
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(SweepResult, "sweep", _SWEEP, locals(), progress)
