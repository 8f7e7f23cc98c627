# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional, Sequence, Union

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    Pairs,
    ScenarioLike,
    Text,
    Texts,
)
from lockstep.results import RunResult

_RUN = (
    ("scenario", "", "scenario"),
    ("set", "--set", "assignments"),
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
    ("classes", "--classes", "flag"),
    ("job", "--job", "texts"),
    ("place", "--place", "texts"),
    ("gpus", "--gpus", "integer"),
    ("steps", "--steps", "integer"),
    ("trace", "--trace", "text"),
    ("trace_ranks", "--trace-ranks", "list"),
    ("trace_detail", "--trace-detail", "text"),
    ("trace_window", "--trace-window", "range"),
    ("suggest", "--suggest", "integer"),
    ("no_variants", "--no-variants", "flag"),
    ("append", "--append", "text"),
)


@command(RunResult, "run", _RUN)
def run(
    scenario: ScenarioLike,
    *,
    set: Optional[Assignments] = None,
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
    classes: bool = False,
    job: Optional[Texts] = None,
    place: Optional[Texts] = None,
    gpus: Optional[int] = None,
    steps: Optional[int] = None,
    trace: Optional[Text] = None,
    trace_ranks: Optional[Texts] = None,
    trace_detail: Optional[Text] = None,
    trace_window: Optional[Union[str, range, Sequence[int]]] = None,
    suggest: Optional[int] = None,
    no_variants: bool = False,
    append: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> RunResult:
    """Simulate a training step: time, throughput, MFU, memory and time breakdown.

    The command `lockstep run`.

    scenario: Scenario file, name of a shipped one, result of `run --format json`, or
        point of a store: plan.db:rank1 or plan.db:17
    set: Override a scenario value, e.g. parallel.tp=4; repeatable
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
    classes: Print the equivalence classes of ranks and how they differ
    job: Another training job at the same time on other GPUs of this scenario's cluster,
        with KEY=VALUE after it: "llama7b-256 parallel.tp=4"; repeatable. Prints how much
        the jobs slow each other down
    place: GPUs of the jobs: packed, spread (nodes in turn), random[:SEED] (nodes), or a
        list such as 0..7,16..23 for each job, repeated (default: packed)
    gpus: GPUs of the cluster that the jobs share (default: as many as they have)
    steps: Steps of the longest job; shorter ones run as long (default: 1)
    trace: Write the step as a trace for ui.perfetto.dev, compressed if FILE ends in .gz:
        passes of microbatches, layers and kernels by rank, flows from send to receive,
        memory and link counters
    trace_ranks: Ranks in the trace: 8, 0..15 or 0,8,16 (default: all that were simulated)
    trace_detail: Finest slices of the trace: microbatch, layer or kernel; counters of
        memory and links have at most 256, 1024 or 4096 points, with all peaks (default:
        kernel)
    trace_window: Time window of the trace, such as "10 ms..12.5 ms" (default: the whole
        step)
    suggest: Number of changes of the layout to simulate for the suggestions of the
        headline, each about as long as the step itself; 0: none (default: 6, with json
        and csv 0, for steps of more than 2 million simulated operations 0)
    no_variants: Do not run the scenario's variants
    append: Append the rows to a CSV file, with a header if the file is new
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(RunResult, "run", _RUN, locals(), progress)
