"""Own topologies: clusters from a networkx graph or from a list of edges."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from lockstep import units
from lockstep._errors import RequestError
from lockstep.inputs import Cluster, Device

__all__ = ["cluster_from_edges", "cluster_from_graph"]

#: Two vertices, and attributes of the cable between them.
Edge = Union[Tuple[Any, Any], Tuple[Any, Any, Mapping[str, Any]]]


def _vertex(name: object, attributes: Mapping[str, Any]) -> Dict[str, Any]:
    out = {"id": str(name), **attributes}
    if "kind" not in out:
        out["kind"] = _kind_of(str(name))
    return out


def _kind_of(name: str) -> str:
    """By the last part of the name, as in "node0/gpu1"; a vertex of another name is a switch."""
    last = name.rsplit("/", 1)[-1].lower()
    for kind in ("gpu", "cpu", "nic", "host", "leaf", "spine", "core"):
        if last.startswith(kind):
            return kind
    if last.isdigit() or last.startswith("rank"):
        return "gpu"
    return "leaf"


def _cable(a: object, b: object, attributes: Mapping[str, Any]) -> Dict[str, Any]:
    of = units.with_units(dict(attributes))
    for key, value in of.items():
        if (unit := units.unit_of(key)) and key.rpartition("_")[0] in ("bandwidth", "latency"):
            raise RequestError(
                f"edge {a} - {b}: {key}: expected a number in {unit}, got {value!r}", "edges"
            )
    for key in ("bandwidth", "latency"):
        if key not in of:
            raise RequestError(
                f'edge {a} - {b}: no {key}; expected {key}="..." with a unit, or the unit in the '
                f"name, such as {'bandwidth_GBps=50' if key == 'bandwidth' else 'latency_us=1'}",
                "edges",
            )
    return {
        "between": [str(a), str(b)],
        "kind": "network",
        "source": "assumed",
        **of,
    }


def cluster_from_edges(
    edges: Iterable[Edge],
    *,
    vertices: Optional[Mapping[Any, Mapping[str, Any]]] = None,
    device: Union[str, Device] = "host",
    name: str = "custom",
    summary: str = "An own topology",
    **every_edge: Any,
) -> Cluster:
    """A cluster of the cables between pairs of vertices.

    Each edge is (a, b) or (a, b, attributes); `every_edge` are attributes that edges lack:
    `bandwidth` and `latency`, as texts with units or with the unit in the name (`bandwidth_GBps`,
    `latency_us`), `kind` (nvlink, pcie, network), `efficiency`, `source`. `vertices` has attributes
    of vertices, such as `kind` (gpu, cpu, nic, leaf, spine) and `node`; without a kind, it is that
    of the name: integers, "gpu3" and "rank3" are GPUs, "leaf0" is a switch. GPUs are ranks in the
    order in which they first occur; in a graph of GPUs alone they forward what is for others.

    >>> ring = cluster_from_edges([(i, (i + 1) % 4) for i in range(4)], device="h100-sxm5-80gb",
    ...                           bandwidth_GBps=50, latency_us=1)
    >>> len(ring["graph"]["cables"])
    4
    """
    known: Dict[str, Dict[str, Any]] = {}
    for vertex, attributes in (vertices or {}).items():
        known[str(vertex)] = _vertex(vertex, attributes)
    cables: List[Dict[str, Any]] = []
    for edge in edges:
        if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) not in (2, 3):
            raise RequestError(
                f"expected edges (a, b) or (a, b, attributes), got {edge!r}", "edges"
            )
        a, b = edge[:2]
        own: Mapping[str, Any] = edge[-1] if len(edge) == 3 else {}
        for end in (a, b):
            known.setdefault(str(end), _vertex(end, {}))
        cables.append(_cable(a, b, {**units.with_units(every_edge), **units.with_units(dict(own))}))
    if all(vertex["kind"] == "gpu" for vertex in known.values()):
        for vertex in known.values():
            vertex.setdefault("forwards", True)
    return Cluster(
        name=name,
        summary=summary,
        device=device,
        graph={"vertices": list(known.values()), "cables": cables},
    )


def cluster_from_graph(
    graph: Any,
    *,
    device: Union[str, Device] = "host",
    name: Optional[str] = None,
    summary: str = "An own topology",
    **every_edge: Any,
) -> Cluster:
    """A cluster of an undirected networkx graph, with the attributes of its nodes and edges as in
    `cluster_from_edges()`."""
    if graph.is_directed():
        raise RequestError(
            "expected an undirected graph: a cable carries both directions; "
            "graph.to_undirected() makes one",
            "graph",
        )
    return cluster_from_edges(
        list(graph.edges(data=True)),
        vertices={vertex: dict(of) for vertex, of in graph.nodes(data=True)},
        device=device,
        name=name or str(graph.name or "custom"),
        summary=summary,
        **every_edge,
    )
