# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ClusterLike,
    Pairs,
    Text,
    Texts,
)
from lockstep.results import ReplayResult

_REPLAY = (
    ("trace", "", "text"),
    ("cluster", "--cluster", "cluster"),
    ("nodes", "--nodes", "integer"),
    ("ranks", "--ranks,-n", "integer"),
    ("set", "--set", "assignments"),
    ("routes", "--routes", "text"),
    ("seed", "--seed", "integer"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("network", "--network", "text"),
    ("protocol", "--protocol", "text"),
    ("algorithm", "--algorithm,-a", "list"),
    ("compute", "--compute", "text"),
    ("slots", "--slots", "integer"),
    ("fold", "--fold", "text"),
    ("classes", "--classes", "flag"),
    ("set_rank", "--set-rank", "pairs"),
    ("max_memory", "--max-memory", "text"),
)


@command(ReplayResult, "replay", _REPLAY)
def replay(
    trace: Text,
    *,
    cluster: Optional[ClusterLike] = None,
    nodes: Optional[int] = None,
    ranks: Optional[int] = None,
    set: Optional[Assignments] = None,
    routes: Optional[Text] = None,
    seed: Optional[int] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    network: Optional[Text] = None,
    protocol: Optional[Text] = None,
    algorithm: Optional[Texts] = None,
    compute: Optional[Text] = None,
    slots: Optional[int] = None,
    fold: Optional[Text] = None,
    classes: bool = False,
    set_rank: Optional[Pairs] = None,
    max_memory: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> ReplayResult:
    """Replay GOAL schedules and Chakra traces.

    The command `lockstep replay`.

    trace: GOAL file, or Chakra traces: PREFIX of PREFIX.0.et, PREFIX.1.et, ... (or
        .json), or their folder
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
    network: fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole
        messages, first in first out (default: fluid)
    protocol: Wire protocol: ll, ll128, simple or a file of one (default: the cluster's
        own link efficiency)
    algorithm: Algorithms for the collectives of a trace, one per collective, separated by
        commas, as in halving_doubling,bruck (default: ring, if available)
    compute: Compute times: those of the trace (as-is), none (zero), or scaled by a factor
        (default: as-is)
    slots: Maximum messages in flight per pair of ranks and tag; 0: rendezvous (default:
        no limit)
    fold: auto: equivalent ranks are replayed once, to the same picosecond; off:
        individually (default: auto)
    classes: Print the equivalence classes of ranks, how they differ, and when their times
        part and are the same again
    set_rank: Override parameters of ranks: 17, 0..7, 3,9,12..15, all, or random:1% of all
        (to the nearest, at least one), drawn with `seed` among those not drawn before;
        SETTINGS are start="10 us" or start="0 us..50 us" (drawn for each rank),
        message_overhead="5 us", reduce_rate="500 GB/s" and compute=0.8, the speed of
        computations relative to those of the trace, drawn for each rank as
        compute=0.9..0.99 (uniform) or compute=normal(0.95,0.02) (mean and standard
        deviation), to a thousandth, separated by commas; 17=0.8 is short for 17
        compute=0.8; repeatable
    max_memory: Refuse replays that need more memory (64M = 64 MiB) (default: 8G)
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(ReplayResult, "replay", _REPLAY, locals(), progress)
