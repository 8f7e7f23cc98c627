# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional, Sequence, Union

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ClusterLike,
    Pairs,
    SchedulesLike,
    Text,
    Texts,
)
from lockstep.results import ExplainResult

_EXPLAIN = (
    ("collective", "", "list"),
    ("algorithm", "--algorithm,-a", "text"),
    ("schedule", "--schedule", "schedules"),
    ("size", "--size,-b", "text"),
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
    ("root", "--root,-r", "integer"),
    ("ranks_per_node", "--ranks-per-node", "integer"),
    ("dims", "--dims", "dimensions"),
    ("rounds", "--rounds", "range"),
    ("datatype", "--datatype,--type,-d", "text"),
)


@command(ExplainResult, "explain", _EXPLAIN)
def explain(
    collective: Texts,
    *,
    algorithm: Optional[Text] = None,
    schedule: Optional[SchedulesLike] = None,
    size: Optional[Text] = None,
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
    root: Optional[int] = None,
    ranks_per_node: Optional[int] = None,
    dims: Optional[Union[str, Sequence[int]]] = None,
    rounds: Optional[Union[str, range, Sequence[int]]] = None,
    datatype: Optional[Text] = None,
    progress: Optional[OnProgress] = None,
) -> ExplainResult:
    """Show round by round what an algorithm sends, reduces and costs.

    The command `lockstep explain`.

    collective: all_reduce, broadcast, ...
    algorithm: Algorithm with parameters, as in parameter_server:shards=4; see `lockstep
        list algorithms`
    schedule: MSCCL XML file with a schedule to show instead of an algorithm
    size: Message size (64M = 64 MiB) (default: 64M)
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
    root: Root rank of broadcast, reduce, scatter and gather (default: 0)
    ranks_per_node: Ranks per node that the algorithm assumes (default: the cluster's)
    dims: Torus dimensions that the algorithm assumes, as in 4x4 (default: the cluster's)
    rounds: Rounds to print, as in 3 or 2..5 (default: all, or the first and the last)
    datatype: Element type of nccl-tests: float, half, bfloat16, ... (default: float)
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(ExplainResult, "explain", _EXPLAIN, locals(), progress)
