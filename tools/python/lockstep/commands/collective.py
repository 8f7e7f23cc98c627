# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ClusterLike,
    Pairs,
    ScenariosLike,
    SchedulesLike,
    Text,
    Texts,
)
from lockstep.results import CollectiveResult

_COLLECTIVE = (
    ("collective", "", "list"),
    ("algorithm", "--algorithm,--algorithms,-a", "list"),
    ("schedule", "--schedule", "schedules"),
    ("slots", "--slots", "integer"),
    ("cluster", "--cluster", "cluster"),
    ("nodes", "--nodes", "integer"),
    ("ranks", "--ranks,-n", "integer"),
    ("set", "--set", "assignments"),
    ("routes", "--routes", "text"),
    ("seed", "--seed", "integer"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("root", "--root,-r", "integer"),
    ("size", "--size,--sizes", "list"),
    ("minbytes", "--minbytes,-b", "text"),
    ("maxbytes", "--maxbytes,-e", "text"),
    ("stepfactor", "--stepfactor,-f", "integer"),
    ("stepbytes", "--stepbytes,-i", "text"),
    ("datatype", "--datatype,-d", "text"),
    ("network", "--network", "text"),
    ("protocol", "--protocol", "text"),
    ("nccl", "--nccl", "text"),
    ("nccl_algo", "--nccl-algo", "list"),
    ("nccl_proto", "--nccl-proto", "list"),
    ("calibration", "--calibration", "text"),
    ("max_memory", "--max-memory", "text"),
    ("skew", "--skew", "text"),
    ("set_rank", "--set-rank", "pairs"),
    ("fold", "--fold", "text"),
    ("classes", "--classes", "flag"),
    ("check", "--check,-c", "flag"),
    ("load", "--load", "flag"),
    ("crossover", "--crossover", "flag"),
    ("concurrent", "--concurrent", "text"),
    ("against", "--against", "scenarios"),
    ("trace", "--trace", "text"),
)


@command(CollectiveResult, "collective", _COLLECTIVE)
def collective(
    collective: Optional[Texts] = None,
    *,
    algorithm: Optional[Texts] = None,
    schedule: Optional[SchedulesLike] = None,
    slots: Optional[int] = None,
    cluster: Optional[ClusterLike] = None,
    nodes: Optional[int] = None,
    ranks: Optional[int] = None,
    set: Optional[Assignments] = None,
    routes: Optional[Text] = None,
    seed: Optional[int] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    root: Optional[int] = None,
    size: Optional[Texts] = None,
    minbytes: Optional[Text] = None,
    maxbytes: Optional[Text] = None,
    stepfactor: Optional[int] = None,
    stepbytes: Optional[Text] = None,
    datatype: Optional[Text] = None,
    network: Optional[Text] = None,
    protocol: Optional[Text] = None,
    nccl: Optional[Text] = None,
    nccl_algo: Optional[Texts] = None,
    nccl_proto: Optional[Texts] = None,
    calibration: Optional[Text] = None,
    max_memory: Optional[Text] = None,
    skew: Optional[Text] = None,
    set_rank: Optional[Pairs] = None,
    fold: Optional[Text] = None,
    classes: bool = False,
    check: bool = False,
    load: bool = False,
    crossover: bool = False,
    concurrent: Optional[Text] = None,
    against: Optional[ScenariosLike] = None,
    trace: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> CollectiveResult:
    """Simulate collectives and print times and bandwidths as nccl-tests does.

    The command `lockstep collective`.

    collective: One or several, separated by commas: all_reduce, reduce_scatter,
        all_gather, broadcast, reduce, scatter, gather, all_to_all, send_recv, barrier
    algorithm: One or several, separated by commas, with parameters as in
        parameter_server:shards=4; `lockstep list algorithms` names them. all: all that
        the cluster allows; auto:by=nccl: NCCL's choice, with windows=symmetric that of
        registered buffers, with cta_policy=zero of copy engines, and with collnet=enable
        of SHARP; auto:by=replay: the fastest in the simulation; auto: both (default:
        ring)
    schedule: MSCCL XML file with a schedule to compare; repeatable
    slots: Messages in flight per connection of imported schedules; 0: rendezvous
        (default: the protocol's)
    cluster: Cluster file, such as configs/clusters/dgx-h100.json, or the name of a
        shipped one (default: star)
    nodes: Number of nodes (default: the cluster file's)
    ranks: Number of ranks, for clusters of free size
    set: Override a value of the cluster file, e.g. topology.shape=[8,8] or
        fabric.link.bandwidth="200 Gb/s"; repeatable
    routes: auto: rail first, else fewest hops, equal paths split; ecmp: one of them by a
        hash; shortest: always the first (default: auto)
    seed: Random seed (default: 1)
    set_link: Change a link ("node0/gpu3 -> node0/nvswitch0", with -- for both directions)
        or all links of a switch, NIC, node or rail ("rail0/leaf0", "rail0"); SETTINGS are
        bandwidth=50% or bandwidth="25 GB/s" and latency="5 us", separated by commas;
        repeatable
    fail: Remove a link, or all links of a switch, NIC, node or rail, and reroute;
        repeatable
    root: Root of broadcast, reduce, scatter and gather (default 0)
    size: Sizes one by one, separated by commas (64M = 64 MiB), instead of `minbytes`,
        `maxbytes`, `stepfactor` and `stepbytes`
    minbytes: Smallest size (64M = 64 MiB) (default: 32M)
    maxbytes: Largest size (default: 32M)
    stepfactor: Multiply sizes by this
    stepbytes: Add this to sizes (default 1M)
    datatype: Element type of nccl-tests: float, half, bfloat16, ... (default: float)
    network: fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole
        messages, first in first out (default: fluid)
    protocol: Wire protocol: ll, ll128, simple or a file of one (default: the cluster's
        own link efficiency)
    nccl: Version of NCCL whose tuning auto:by=nccl follows (default: 2.30)
    nccl_algo: Algorithms NCCL may choose from, as in NCCL_ALGO:
        "ring,tree;allreduce:^tree"
    nccl_proto: Protocols NCCL may choose from, as in NCCL_PROTO
    calibration: Calibration file with the costs of collectives that auto:by=nccl compares
    max_memory: Refuse replays that need more memory (64M = 64 MiB) (default: 8G)
    skew: Random start delay of each rank, uniform up to this time (default: 0 us)
    set_rank: Override parameters of ranks: 17, 0..7, 3,9,12..15, all, or random:1% of all
        (to the nearest, at least one), drawn with `seed` among those not drawn before;
        SETTINGS are start="10 us" or start="0 us..50 us" (drawn for each rank),
        message_overhead="5 us", reduce_rate="500 GB/s" and compute=0.8, the speed of
        reductions relative to their rate, drawn for each rank as compute=0.9..0.99
        (uniform) or compute=normal(0.95,0.02) (mean and standard deviation), to a
        thousandth, separated by commas; 17=0.8 is short for 17 compute=0.8; repeatable
    fold: auto: equivalent ranks are replayed once, to the same picosecond; off:
        individually (default: auto)
    classes: Print the equivalence classes of ranks, how they differ, and when their times
        part and are the same again
    check: Run every schedule on real numbers and count wrong elements in #wrong
    load: Add the busiest link's load: bytes of the busiest link, summed over rounds, per
        byte of the message, along single paths
    crossover: Print the sizes between `minbytes` and `maxbytes` at which the fastest
        algorithm changes, searched between powers of two (default: from 8 bytes to 1G)
    concurrent: JSON file of collectives to run at the same time; prints how much each
        slows the others down
    against: Output of nccl-tests, whose measured times are printed next to the simulated
        ones; the file specifies the collective, the number of ranks and, from the names
        of its GPUs, the cluster, unless options do (default algorithm: auto:by=nccl)
    trace: Write every message of one algorithm at one size as a trace for
        ui.perfetto.dev, compressed if FILE ends in .gz
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(CollectiveResult, "collective", _COLLECTIVE, locals(), progress)
