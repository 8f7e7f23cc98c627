# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional, Sequence, Union

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Assignments,
    ClusterLike,
    Pairs,
    Text,
    Texts,
)
from lockstep.results import ComplexityResult

_COMPLEXITY = (
    ("collective", "", "list"),
    ("algorithm", "--algorithms,--algorithm,-a", "list"),
    ("cluster", "--cluster", "cluster"),
    ("set", "--set", "assignments"),
    ("routes", "--routes", "text"),
    ("seed", "--seed", "integer"),
    ("set_link", "--set-link", "pairs"),
    ("fail", "--fail", "texts"),
    ("ranks", "--ranks,-n", "range"),
    ("points", "--points", "integer"),
    ("size_small", "--size-small", "text"),
    ("size_large", "--size-large,--size", "text"),
    ("network", "--network", "text"),
    ("protocol", "--protocol", "text"),
    ("root", "--root,-r", "integer"),
    ("datatype", "--datatype,--type,-d", "text"),
    ("measured", "--measured", "flag"),
)


@command(ComplexityResult, "complexity", _COMPLEXITY)
def complexity(
    collective: Texts,
    *,
    algorithm: Optional[Texts] = None,
    cluster: Optional[ClusterLike] = None,
    set: Optional[Assignments] = None,
    routes: Optional[Text] = None,
    seed: Optional[int] = None,
    set_link: Optional[Pairs] = None,
    fail: Optional[Texts] = None,
    ranks: Optional[Union[str, range, Sequence[int]]] = None,
    points: Optional[int] = None,
    size_small: Optional[Text] = None,
    size_large: Optional[Text] = None,
    network: Optional[Text] = None,
    protocol: Optional[Text] = None,
    root: Optional[int] = None,
    datatype: Optional[Text] = None,
    measured: bool = False,
    progress: Optional[OnProgress] = None,
) -> ComplexityResult:
    """Measure how rounds, bytes and times grow with the number of ranks.

    The command `lockstep complexity`.

    collective: all_reduce, broadcast, ...
    algorithm: One or several, separated by commas, with parameters as in
        parameter_server:shards=4, or all (default: all)
    cluster: Cluster file, such as configs/clusters/dgx-h100.json, or the name of a
        shipped one (default: star)
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
    ranks: Powers of two in this range (default: 2..1024)
    points: Number of rank counts, spaced geometrically (default: powers of two)
    size_small: Message size used to measure latency (default: 8)
    size_large: Message size used to measure bandwidth (default: 64M)
    network: fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole
        messages, first in first out (default: fluid)
    protocol: Wire protocol: ll, ll128, simple or a file of one (default: the cluster's
        own link efficiency)
    root: Root rank of broadcast, reduce, scatter and gather (default: 0)
    datatype: Element type of nccl-tests: float, half, bfloat16, ... (default: float)
    measured: Print the measurements, one row per number of ranks, instead of their growth
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(ComplexityResult, "complexity", _COMPLEXITY, locals(), progress)
