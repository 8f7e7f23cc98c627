"""Exceptions. All are `LockstepError`; those of a command carry what it had printed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Sequence

if TYPE_CHECKING:
    from lockstep import _native
    from lockstep._results import Result

__all__ = [
    "ConfigError",
    "DoesNotFit",
    "InternalError",
    "LockstepError",
    "NegativeResult",
    "OutputError",
    "Problem",
    "RequestError",
]

# Documents in memory have names with a hash, so that equal ones are one file; readers may look for
# them in a folder.
_IN_MEMORY = re.compile(r"""[^\s"'<]*<([a-z_]+)-[0-9a-f]{16}>(?:\.(json|xml))?""")


def shown(text: str) -> str:
    """`text` with documents in memory by what they were given as: "scenario (dict)"."""
    return _IN_MEMORY.sub(
        lambda found: found[1] if found[1] in ("result", "schedule") else f"{found[1]} (dict)", text
    )


class Problem(NamedTuple):
    """One problem of a config."""

    file: str
    """As it was given; "scenario (dict)" for a dict or an object of this module."""
    line: int
    """1-based; 0: the file as a whole, or no file."""
    column: int
    pointer: str
    """JSON pointer of the value; empty for the document itself."""
    message: str
    value: Any
    """The value at fault; None where there is none."""

    @property
    def key(self) -> str:
        """The last key of the pointer."""
        return self.pointer.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")

    @property
    def hint(self) -> str:
        """What to write instead, as far as the message says; may be empty."""
        head, mark, tail = self.message.rpartition("; ")
        if mark:
            return tail
        return self.message.split(", got ")[0] if self.message.startswith("expected ") else ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        pointer = f"{self.pointer}: " if self.pointer else ""
        return f"{place}: {pointer}{self.message}"


class LockstepError(Exception):
    """Base of all errors of Lockstep."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _take_answer(self, answer: "_native.Answer") -> None:
        """What the command had printed before."""


class ConfigError(LockstepError, ValueError):
    """A scenario, cluster or other config is invalid. All of its problems are in `problems`;
    `file`, `line`, `column`, `pointer`, `key`, `value` and `hint` are those of the first."""

    def __init__(self, problems: Sequence[Sequence[Any]], total: int = 0) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            Problem(file, line, column, pointer, message, value)
            for file, line, column, pointer, message, value in (
                (*problem, None)[:6] for problem in problems
            )
        )
        self.total: int = max(total, len(self.problems))
        super().__init__(self.problems, self.total)

    def _in_words_of(self, documents: dict[str, str], keywords: Callable[[str], str]) -> None:
        """Looks the values at fault up in the documents, or in the files. Documents get the names
        that users know, without lines of a text that they never saw; options are keywords."""
        seen = tuple(_in_words_of(problem, documents, keywords) for problem in self.problems)
        # "bandwidth" is there, as bandwidth_GBps.
        there = {
            (of.file, of.pointer.rpartition("_")[0])
            for was, of in zip(self.problems, seen)
            if was.message.startswith("unknown key") and of.message.startswith("expected a number")
        }
        self.problems = tuple(of for of in seen if (of.file, _missing(of)) not in there)
        self.total -= len(seen) - len(self.problems)
        self.args = (self.problems, self.total)

    @property
    def file(self) -> str:
        return self.problems[0].file

    @property
    def line(self) -> int:
        return self.problems[0].line

    @property
    def column(self) -> int:
        return self.problems[0].column

    @property
    def pointer(self) -> str:
        return self.problems[0].pointer

    @property
    def key(self) -> str:
        return self.problems[0].key

    @property
    def value(self) -> Any:
        return self.problems[0].value

    @property
    def hint(self) -> str:
        return self.problems[0].hint

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:50]]
        more = self.total - len(lines)
        return "\n".join(lines + ([f"and {more} more"] if more > 0 else []))


def _in_words_of(
    problem: Problem, documents: dict[str, str], keywords: Callable[[str], str]
) -> Problem:
    file, message = problem.file, shown(problem.message)
    name = found[0] if (found := re.search(r"<[^<]*$", file)) else file
    value = _value_at(documents.get(name), file, problem.pointer)
    if file.startswith("--"):
        return problem._replace(file=keywords(file), message=message, value=value)
    if name in documents:
        message = _in_its_unit(problem, value) or message
        return problem._replace(file=shown(name), line=0, column=0, message=message, value=value)
    return problem._replace(message=message, value=value)


def _missing(problem: Problem) -> str:
    """The pointer of the key that is missing; empty: none is."""
    found = re.match('the key "(.*)" is missing', problem.message)
    return f"{problem.pointer}/{found[1]}" if found else ""


def _in_its_unit(problem: Problem, value: Any) -> str:
    """Of a key with a unit in its name, whose value should have been a number."""
    from lockstep.units import unit_of

    unit = unit_of(problem.key)
    if not unit or not problem.message.startswith("unknown key"):
        return ""
    return f"expected a number in {unit}, as {problem.key} says, got {json.dumps(value)}"


def _value_at(text: Optional[str], file: str, pointer: str) -> Any:
    try:
        if text is None and file.startswith("--set "):
            return file.split("=", 1)[1]
        if text is None:
            with open(file, encoding="utf-8") as opened:
                text = opened.read()
        at = json.loads(text)
        for part in pointer.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            at = at[int(part)] if isinstance(at, list) else at[part]
        return at
    except (OSError, ValueError, LookupError, TypeError):
        return None


class _MessageError(LockstepError):
    def __init__(self, message: str, place: str = "", hint: str = "") -> None:
        self.message: str = shown(message)
        self.place: str = shown(place)
        """The keyword or field at fault; may be empty."""
        self.hint: str = hint
        super().__init__(self.message, self.place, hint)

    def _say(self, message: str, place: str) -> None:
        self.message, self.place = message, place
        self.args = (message, place, self.hint)

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class RequestError(_MessageError, ValueError):
    """A call is invalid: an unknown name, values that exclude each other."""


class NegativeResult(_MessageError):
    """A valid call with a negative result: a deadlock, a wrong schedule, no layout that fits."""

    result: Optional["Result"] = None
    """What was found, if the command has a result for it."""
    _answer: Optional["_native.Answer"] = None

    def _take_answer(self, answer: "_native.Answer") -> None:
        self._answer = answer


class DoesNotFit(NegativeResult):
    """A layout needs more memory than a GPU has; `result` has the need and changes that fit."""


class OutputError(_MessageError, OSError):
    """A file cannot be written."""


class InternalError(_MessageError, RuntimeError):
    """A bug of Lockstep; please report it."""
