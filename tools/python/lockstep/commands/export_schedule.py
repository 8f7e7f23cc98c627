# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import execute_text
from lockstep.commands._types import (
    Assignments,
    ClusterLike,
    Pairs,
    Text,
    Texts,
)

_EXPORT_SCHEDULE = (
    ("collective", "", "list"),
    ("algorithm", "--algorithm,-a", "text"),
    ("cluster", "--cluster", "cluster"),
    ("nodes", "--nodes", "integer"),
    ("set", "--set", "assignments"),
    ("routes", "--routes", "text"),
    ("seed", "--seed", "integer"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("ranks", "--ranks,-n", "integer"),
    ("ranks_per_node", "--ranks-per-node", "integer"),
    ("root", "--root,-r", "integer"),
    ("size", "--size", "text"),
    ("datatype", "--datatype,-d", "text"),
    ("format", "--format", "text"),
    ("protocol", "--protocol", "text"),
)


def export_schedule(
    collective: Texts,
    *,
    algorithm: Optional[Text] = None,
    cluster: Optional[ClusterLike] = None,
    nodes: Optional[int] = None,
    set: Optional[Assignments] = None,
    routes: Optional[Text] = None,
    seed: Optional[int] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    ranks: Optional[int] = None,
    ranks_per_node: Optional[int] = None,
    root: Optional[int] = None,
    size: Optional[Text] = None,
    datatype: Optional[Text] = None,
    format: Optional[Text] = None,
    protocol: Optional[Text] = None,
) -> str:
    """Write the schedule of a collective as MSCCL XML or GOAL.

    The command `lockstep schedule export`.

    collective: Collective, such as all_reduce
    algorithm: Algorithm with parameters, as in ring:channels=2 (default: ring, or the
        first of `lockstep list algorithms`)
    cluster: Cluster file, such as configs/clusters/dgx-h100.json, or the name of a
        shipped one (default: star)
    nodes: Number of nodes (default: the cluster file's)
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
    ranks: Number of ranks (default: the cluster's)
    ranks_per_node: Consecutive ranks per node, for hierarchical algorithms (default: the
        cluster's)
    root: Root of broadcast, reduce, scatter and gather (default 0)
    size: Message size, for GOAL and for algorithms whose number of chunks depends on it
        (default: 1M)
    datatype: Element type (default: float)
    format: MSCCL XML or GOAL (default: msccl)
    protocol: Protocol attribute of the MSCCL XML: Simple, LL or LL128 (default: Simple)
    """
    return execute_text("schedule export", _EXPORT_SCHEDULE, locals())
