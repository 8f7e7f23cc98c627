# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    CampaignLike,
    Pairs,
    ScenarioLike,
    ScenariosLike,
    Text,
    Texts,
)
from lockstep.results import CampaignResult

_CAMPAIGN = (
    ("scenario", "", "scenario"),
    ("campaign", "", "campaign"),
    ("set", "--set", "assignments"),
    ("set_campaign", "--set-campaign", "assignments"),
    ("against", "--against", "scenarios"),
    ("change", "--change", "assignments"),
    ("ignore_memory", "--ignore-memory", "flag"),
    ("replicates", "--replicates", "integer"),
    ("seed", "--seed", "integer"),
    ("threads", "--threads", "integer"),
    ("set_rank", "--set-rank", "pairs"),
    ("gpu_speed", "--gpu-speed", "assignments"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("fidelity", "--fidelity", "text"),
    ("fold", "--fold", "text"),
    ("job", "--job", "texts"),
    ("place", "--place", "texts"),
    ("gpus", "--gpus", "integer"),
    ("steps", "--steps", "integer"),
    ("replicate_rows", "--replicate-rows", "text"),
    ("details", "--details", "flag"),
)


@command(CampaignResult, "campaign", _CAMPAIGN)
def campaign(
    scenario: ScenarioLike,
    campaign: CampaignLike,
    *,
    set: Optional[Assignments] = None,
    set_campaign: Optional[Assignments] = None,
    against: Optional[ScenariosLike] = None,
    change: Optional[Assignments] = None,
    ignore_memory: bool = False,
    replicates: Optional[int] = None,
    seed: Optional[int] = None,
    threads: Optional[int] = None,
    set_rank: Optional[Pairs] = None,
    gpu_speed: Optional[Assignments] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    fidelity: Optional[Text] = None,
    fold: Optional[Text] = None,
    job: Optional[Texts] = None,
    place: Optional[Texts] = None,
    gpus: Optional[int] = None,
    steps: Optional[int] = None,
    replicate_rows: Optional[Text] = None,
    details: bool = False,
    progress: Optional[OnProgress] = None,
) -> CampaignResult:
    """Simulate the days, money and energy of a whole training with failures.

    The command `lockstep campaign`.

    scenario: Scenario file, name of a shipped one, result of `run --format json`, or
        point of a store: plan.db:rank1 or plan.db:17
    campaign: Campaign file (causes of failure, checkpoints, costs), or name of a shipped
        one
    set: Override a scenario value, e.g. parallel.tp=4, of all scenarios; repeatable
    set_campaign: Override a value of the campaign, e.g. checkpoint.interval=young or
        policy=rollback; repeatable
    against: Another scenario to compare with, under the same failures; repeatable
    change: Compare with the scenario with this value changed, under the same failures;
        repeatable for several values of one change
    ignore_memory: Simulate even if a rank needs more memory than its GPU has
    replicates: Number of simulated campaigns (default: 1000)
    seed: Seed of random draws, also of ranks and speeds (default: 1)
    threads: Number of threads; results do not depend on it (default: one for each core)
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
    fidelity: all: every rank and transfer on one network; representatives: one rank of
        each role; auto: all where that is quick, folded or not (default: auto)
    fold: auto: equivalent ranks are simulated once, to the same picosecond; off:
        individually (default: auto)
    job: Another training job at the same time on other GPUs of this scenario's cluster,
        with KEY=VALUE after it: "llama7b-256 parallel.tp=4"; repeatable. Prints how much
        the jobs slow each other down
    place: GPUs of the jobs: packed, spread (nodes in turn), random[:SEED] (nodes), or a
        list such as 0..7,16..23 for each job, repeated (default: packed)
    gpus: GPUs of the cluster that the jobs share (default: as many as they have)
    steps: Steps of the longest job; shorter ones run as long (default: 1)
    replicate_rows: Write a line per replicate with its times in microseconds
    details: Print all times, causes and simulated checkpoint intervals
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(CampaignResult, "campaign", _CAMPAIGN, locals(), progress)
