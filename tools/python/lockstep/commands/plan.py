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
from lockstep.results import PlanResult

_PLAN = (
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
    ("space", "--space", "text"),
    ("set_rank", "--set-rank", "pairs"),
    ("gpu_speed", "--gpu-speed", "assignments"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("seed", "--seed", "integer"),
    ("fidelity", "--fidelity", "text"),
    ("objective", "--objective", "text"),
    ("pareto", "--pareto", "list"),
    ("where", "--where", "texts"),
    ("no_rule", "--no-rule", "texts"),
    ("top", "--top", "integer"),
    ("budget", "--budget", "text"),
    ("threads", "--threads", "integer"),
    ("explain", "--explain", "settings"),
    ("current", "--current", "scenario"),
    ("calibration", "--calibration", "text"),
    ("price", "--price", "text"),
    ("watts", "--watts", "text"),
    ("pue", "--pue", "text"),
    ("price_kwh", "--price-kwh", "text"),
    ("store", "--store", "text"),
    ("resume", "--resume", "flag"),
    ("shard", "--shard", "text"),
    ("shards", "--shards", "integer"),
    ("emit", "--emit", "text"),
)


@command(PlanResult, "plan", _PLAN)
def plan(
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
    space: Optional[Text] = None,
    set_rank: Optional[Pairs] = None,
    gpu_speed: Optional[Assignments] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    seed: Optional[int] = None,
    fidelity: Optional[Text] = None,
    objective: Optional[Text] = None,
    pareto: Optional[Texts] = None,
    where: Optional[Texts] = None,
    no_rule: Optional[Texts] = None,
    top: Optional[int] = None,
    budget: Optional[Text] = None,
    threads: Optional[int] = None,
    explain: Optional[Assignments] = None,
    current: Optional[ScenarioLike] = None,
    calibration: Optional[Text] = None,
    price: Optional[Text] = None,
    watts: Optional[Text] = None,
    pue: Optional[Text] = None,
    price_kwh: Optional[Text] = None,
    store: Optional[Text] = None,
    resume: bool = False,
    shard: Optional[Text] = None,
    shards: Optional[int] = None,
    emit: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> PlanResult:
    """Find the best parallel layouts of a model on a cluster, with a proof.

    The command `lockstep plan`.

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
    space: Space file with the same (configs/spaces), or its name
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
    seed: Seed of ranks and speeds that are drawn, instead of the scenario's (default: 1)
    fidelity: all: every rank and transfer on one network; representatives: one rank of
        each role; auto: all where that is quick, folded or not (default: auto)
    objective: Metric to optimize: step_time, tokens_per_s_per_gpu, mfu, days, gpu_hours,
        usd, energy, gpus, memory, memory_margin (default: step_time)
    pareto: Front of two or three metrics instead, e.g. step_time,memory
    where: Limit on a metric, e.g. 'memory_margin >= 4 GiB' or 'days <= 30'; repeatable
    no_rule: Rule that does not hold: nvlink_domain lets tp exceed a node
    top: Number of best layouts, each proved (default: 5)
    budget: Limit on simulations or time, e.g. 200, "30 s" or "5 min"; the result then has
        the gap that remains
    threads: Number of threads; results do not depend on it (default: one for each core)
    explain: Report on one layout, e.g. tp=8,pp=16: its row, or what refuses it and the
        nearest layout that fits
    current: Scenario whose layout is put into the table (default: that of SCENARIO)
    calibration: Calibration file of `calibrate --from` that overrides the shipped
        parameters
    price: Price of a GPU hour ($; default: that of the cluster or device file)
    watts: Power that a GPU and its part of the node draw (W; default: watts of the
        cluster file, max_power of the device)
    pue: Power usage effectiveness: facility power over machine power (default: that of
        the cluster file, 1)
    price_kwh: Price of a kWh ($), in addition to `price` (default: that of the cluster
        file)
    store: SQLite file that takes every simulated layout (see `lockstep query`; FILE:rank1
        is then a scenario of run, compare and their like); with `emit` ENGINE, of all
        shards together (default there: plan.db)
    resume: Continue the search of `store`, or begin it: nothing is simulated twice
    shard: Part of the space, e.g. 3/8; `lockstep merge` joins the stores of all parts
    shards: Number of shards of such a script (default: one for each 30 million points, at
        least 16)
    emit: Print launch flags of the best layout instead: megatron, torchtitan, deepspeed
        or nemo, with a comment for what these cannot express; scenario: the best layout
        as a file for run; or, without searching, a script that searches in shards: slurm,
        parallel or hyperqueue
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(PlanResult, "plan", _PLAN, locals(), progress)
