"""Results with matplotlib, where it is installed."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from lockstep import results
from lockstep._results import Result

Draw = Callable[[Any, Any], None]


def _curves(quantity: str, label: str) -> Draw:
    def draw(result: results.CollectiveResult, ax: Any) -> None:
        for name, curve in result.curves.items():
            values = getattr(curve, quantity) * (1e6 if quantity == "time_s" else 1e-9)
            own = "--" if name.startswith("schedule:") else "-"  # on top of an equal one
            ax.plot(curve.size_bytes, values, own, marker="o", markersize=3, label=name)
        ax.set(xscale="log", yscale="log", xlabel="Message size (B)", ylabel=label)
        ax.legend()

    return draw


def _seconds(values: List[float]) -> Tuple[List[float], str]:
    """Times of bars, in s or ms."""
    if max((abs(value) for value in values), default=0.0) >= 1:
        return values, "s"
    return [1e3 * value for value in values], "ms"


def _bars(ax: Any, names: List[str], values: List[float], label: str) -> None:
    ax.barh(range(len(names)), values)
    ax.set_yticks(range(len(names)))
    ax.set_yticklabels(names)
    ax.invert_yaxis()
    ax.set_xlabel(label)


def _breakdown(result: results.RunResult, ax: Any) -> None:
    limits = result.limits
    times, unit = _seconds([row.time_s for row in limits])
    _bars(ax, [row.use for row in limits], times, f"Time on the critical path ({unit})")


def _memory(result: results.RunResult, ax: Any) -> None:
    timeline = result.timeline
    times = timeline.memory_at_ps * 1e-12
    held = timeline.memory_bytes.T / 2**30
    ax.stackplot(times, held, labels=timeline.memory_categories, step="post")
    ax.set(xlabel="Time (s)", ylabel=f"Memory of rank {timeline.memory_rank} (GiB)")
    ax.legend(loc="lower right")


def _timeline(result: results.RunResult, ax: Any) -> None:
    timeline = result.timeline
    ranks = timeline.ranks[:32]
    for row, rank in enumerate(ranks):
        starts, ends = timeline.start_ps(rank) * 1e-12, timeline.end_of_ps(rank) * 1e-12
        computes = [stream == "compute" for stream in timeline.streams(rank)]
        for shown, color, height in ((True, "tab:blue", 0.8), (False, "tab:gray", 0.3)):
            spans = [
                (start, end - start)
                for start, end, is_computing in zip(starts, ends, computes)
                if is_computing == shown and end > start
            ]
            ax.broken_barh(spans, (row - height / 2, height), color=color, linewidth=0)
    ax.set_yticks(range(len(ranks)))
    ax.set_yticklabels([f"rank {rank}" for rank in ranks])
    ax.invert_yaxis()
    ax.set(xlabel="Time (s)", title="Computation (blue), communication and waiting for it (gray)")


def _growth(result: results.ComplexityResult, ax: Any) -> None:
    curves: Dict[str, Tuple[List[int], List[float]]] = {}
    for point in result.points:
        ranks, times = curves.setdefault(point.algorithm, ([], []))
        ranks.append(point.ranks)
        times.append(1e6 * point.large_time_s)
    for name, (ranks, times) in curves.items():
        ax.plot(ranks, times, marker="o", markersize=3, label=name)
    ax.set(xscale="log", yscale="log", xlabel="Ranks", ylabel="Time of the large message (us)")
    ax.legend()


def _front(result: results.PlanResult, ax: Any) -> None:
    rows = [row for row in result.rows if row.step_time_s is not None]
    ax.scatter([r.peak_memory_bytes / 2**30 for r in rows], [r.step_time_s for r in rows])
    for row in rows:
        ax.annotate(str(row.rank), (row.peak_memory_bytes / 2**30, row.step_time_s),
                    xytext=(5, 5), textcoords="offset points")  # fmt: skip
    ax.set(xlabel="Peak memory (GiB)", ylabel="Step time (s)")


def _points(result: results.SweepResult, ax: Any) -> None:
    axes = [name for name in result.rows[0] if "." in name]
    names = [", ".join(f"{a.rpartition('.')[2]} {row[a]}" for a in axes) for row in result.rows]
    _bars(ax, names, [row.step_time_s or 0 for row in result.rows], "Step time (s)")


def _elasticities(result: results.SensitivityResult, ax: Any) -> None:
    rows = [row for row in result.rows if row.get("elasticity") is not None]
    _bars(ax, [row.name for row in rows], [abs(row.elasticity) for row in rows],
          "Change of the step time in % per % of the value")  # fmt: skip


def _differences(result: results.CompareResult, ax: Any) -> None:
    rows = [row for row in result.rows if row.part == "use" and row.difference_s is not None]
    times, unit = _seconds([row.difference_s for row in rows])
    _bars(ax, [row.name for row in rows], times, f"Difference of the critical path ({unit})")


def _totals(result: results.CampaignResult, ax: Any) -> None:
    rows = [row for row in result.rows if row.get("share_fraction") is not None]
    _bars(ax, [row.quantity for row in rows], [100 * row.share_fraction for row in rows],
          "Share of the wall time (%)")  # fmt: skip


_KINDS: Dict[type, Dict[str, Any]] = {
    results.CollectiveResult: {
        "busbw": _curves("busbw_Bps", "busbw (GB/s)"),
        "time": _curves("time_s", "Time (us)"),
    },
    results.RunResult: {"breakdown": _breakdown, "memory": _memory, "timeline": _timeline},
    results.ComplexityResult: {"time": _growth},
    results.PlanResult: {"front": _front},
    results.SweepResult: {"points": _points},
    results.SensitivityResult: {"elasticity": _elasticities},
    results.CompareResult: {"difference": _differences},
    results.CampaignResult: {"shares": _totals},
}


def plot(result: Result, kind: str, ax: Any) -> Any:
    kinds = _KINDS.get(type(result))
    if not kinds:
        raise KeyError(f"a {type(result).__name__} has no plot(); to_pandas().plot() draws columns")
    if kind and kind not in kinds:
        raise KeyError(f"{kind}; there are: {', '.join(kinds)}")
    try:
        from matplotlib import pyplot  # type: ignore[import]
    except ImportError:
        raise ImportError("plot() needs matplotlib; figure() and save_report() do not") from None
    if ax is None:
        _, ax = pyplot.subplots(constrained_layout=True)
    kinds[kind or next(iter(kinds))](result, ax)
    return ax
