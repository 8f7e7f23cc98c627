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
from lockstep.results import TopologyResult

_TOPOLOGY = (
    ("cluster", "", "cluster"),
    ("nodes", "--nodes", "integer"),
    ("ranks", "--ranks,-n", "integer"),
    ("set", "--set", "assignments"),
    ("routes", "--routes", "text"),
    ("seed", "--seed", "integer"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
)


@command(TopologyResult, "topology show", _TOPOLOGY)
def topology(
    cluster: ClusterLike,
    *,
    nodes: Optional[int] = None,
    ranks: Optional[int] = None,
    set: Optional[Assignments] = None,
    routes: Optional[Text] = None,
    seed: Optional[int] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    progress: Optional[OnProgress] = None,
) -> TopologyResult:
    """Show the size, bisection bandwidth and diameter of a cluster.

    The command `lockstep topology show`.

    cluster: Cluster file, such as configs/clusters/dgx-h100.json, or the name of a
        shipped one
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
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(TopologyResult, "topology show", _TOPOLOGY, locals(), progress)
