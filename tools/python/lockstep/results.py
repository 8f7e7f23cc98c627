"""Result classes, one for each command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Tuple

from lockstep import _native
from lockstep._errors import RequestError
from lockstep._results import Record, Result, Value

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = [
    "CampaignResult",
    "CollectiveResult",
    "CompareResult",
    "ComplexityResult",
    "Curve",
    "ExplainResult",
    "ListResult",
    "PlanResult",
    "QueryResult",
    "Record",
    "ReplayResult",
    "Result",
    "RunResult",
    "SensitivityResult",
    "SweepResult",
    "TopologyResult",
    "ValidateResult",
    "VerifyResult",
]


class RunResult(Result):
    """A training step."""

    __slots__ = ()
    name = Value[str]("Of the scenario.")
    step_time_s = Value[float]("Time of a step.")
    tokens_per_s = Value[Optional[float]]("Throughput; None for a model without tokens.")
    samples_per_s = Value[float]("Throughput.")
    mfu_fraction = Value[Optional[float]]("Model FLOPs over the dense peak.")
    hfu_fraction = Value[Optional[float]]("Executed FLOPs over the dense peak.")
    training_s = Value[Optional[float]]("Time of the whole training, if its tokens are given.")
    gpu_hours = Value[Optional[float]]("Of the whole training.")
    prediction = Value[Optional[Record]]("Expected time on hardware and prediction interval.")
    limits = Value[Tuple[Record, ...]]("What the critical path is made of.")
    provenance = Value[Record]("How the values are known on which the time rests.")
    breakdown = Value[Record]("Time of the rank that determines the step.")
    memory = Value[Record]("Memory of the rank that needs most.")
    links = Value[Tuple[Record, ...]]("The busiest links.")
    suggestions = Value[Any]("Changes that were simulated.")
    variants = Value[Tuple[Record, ...]]("The scenario's variants.")
    warnings = Value[Tuple[str, ...]]("What differs on hardware.")

    @property
    def peak_memory_bytes(self) -> int:
        """Of the rank that needs most."""
        peak: int = self.memory.peak_bytes
        return peak

    @property
    def fits(self) -> bool:
        """Whether it fits into memory."""
        fits: bool = self.memory.fits
        return fits

    @property
    def timeline(self) -> _native.Timeline:
        """Start and end of every operation, and memory over time, as numpy views of what the
        simulator recorded."""
        timeline = self._answer.timeline
        if timeline is None:
            raise RequestError("a run of several jobs has no timeline")
        return timeline


class Curve(NamedTuple):
    """One algorithm over the message size, as views of the result."""

    size_bytes: "NDArray[numpy.int64]"
    time_s: "NDArray[numpy.float64]"
    algbw_Bps: "NDArray[numpy.float64]"
    busbw_Bps: "NDArray[numpy.float64]"


class CollectiveResult(Result):
    """Times of a collective by algorithm and message size."""

    __slots__ = ()

    @property
    def curves(self) -> Dict[str, Curve]:
        """By algorithm; with several collectives by "all_gather ring"."""
        rows = self.table()
        if "size_bytes" not in rows.types or "busbw_Bps" not in rows.types:
            return {}
        collectives, algorithms = rows.values("collective"), rows.values("algorithm")
        several = len(set(collectives)) > 1
        names = [f"{c} {a}" if several else a for c, a in zip(collectives, algorithms)]
        fields = [rows.view(field) for field in Curve._fields]
        out: Dict[str, Curve] = {}
        begin = 0
        for end in range(1, len(names) + 1):  # the rows of an algorithm are next to each other
            if end == len(names) or names[end] != names[begin]:
                out[names[begin]] = Curve(*(field[begin:end] for field in fields))  # type: ignore
                begin = end
        return out

    @property
    def fastest(self) -> Dict[int, str]:
        """The fastest algorithm by size in bytes."""
        return {row.size_bytes: row.algorithm for row in self.rows if row.get("best")}


class ExplainResult(Result):
    """Rounds of a schedule: its messages are the rows."""

    __slots__ = ()
    rounds = Value[int]("Number of rounds.")
    cost = Value[Record]("Closed form, simulated time and lower bound.")
    chunks = Value[Record]("Contents of every rank after every round.")


class ComplexityResult(Result):
    """Growth of an algorithm with the number of ranks."""

    __slots__ = ()
    points = Value[Tuple[Record, ...]]("The measurements.")


class VerifyResult(Result):
    """Verified schedules or layouts."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether all are correct."""
        return all(row.ok for row in self.rows)


class PlanResult(Result):
    """The best layouts of a space, with a certificate."""

    __slots__ = ()
    certificate = Value[Record]("How every point of the space was decided.")
    overrides = Value[Tuple[Any, ...]]("Of each row, for `run(set=...)`.")

    @property
    def best(self) -> Record:
        """The best layout."""
        first: Record = self.rows[0]
        return first


class SweepResult(Result):
    """A training step at every point of a grid."""

    __slots__ = ()


class CompareResult(Result):
    """Why one step takes longer than another."""

    __slots__ = ()
    regime_a = Value[str]("What limits the first step.")
    regime_b = Value[str]("What limits the second.")
    attribution = Value[str]("How the difference is attributed to changes.")
    simulations = Value[int]("Number of simulations between the two.")


class SensitivityResult(Result):
    """How a step depends on the hardware."""

    __slots__ = ()
    step_time_s = Value[float]("Of the unchanged step.")
    simulations = Value[int]("Number of simulations.")


class CampaignResult(Result):
    """A training with failures."""

    __slots__ = ()
    replicates = Value[int]("Number of simulated campaigns.")
    outcomes = Value[Tuple[Record, ...]]("By scenario or job.")


class ValidateResult(Result):
    """Relative errors on measured results."""

    __slots__ = ()
    groups = Value[Tuple[Record, ...]]("Errors by group.")
    overall = Value[Tuple[Record, ...]]("Means over groups.")
    not_modeled = Value[Tuple[Record, ...]]("Rows that cannot be simulated, with reasons.")


class ListResult(Result):
    """Shipped algorithms, clusters, models and others."""

    __slots__ = ()


class TopologyResult(Result):
    """Properties of a cluster."""

    __slots__ = ()


class ReplayResult(Result):
    """A trace of another program, simulated."""

    __slots__ = ()


class QueryResult(Result):
    """Rows of a store."""

    __slots__ = ()
