#!/usr/bin/env python3
"""Writes lockstep/commands/*.py from the options of the command line: keywords, types, help.

With --check: fails if a file is not what would be written. PYTHONPATH has the built package.
"""

from __future__ import annotations

import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

# Not the sources next to this file, which have no native part.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
from lockstep import _native  # noqa: E402

FOLDER = Path(__file__).parent / "lockstep" / "commands"


class Function(NamedTuple):
    name: str
    command: str
    result: str
    first: tuple[str, ...] = ()  # positional parameters; others are keywords


FUNCTIONS = (
    Function("run", "run", "RunResult", ("scenario",)),
    Function("collective", "collective", "CollectiveResult", ("collective",)),
    Function("explain", "explain", "ExplainResult", ("collective",)),
    Function("complexity", "complexity", "ComplexityResult", ("collective",)),
    Function("verify", "verify collective", "VerifyResult", ("collective",)),
    Function("verify_strategy", "verify strategy", "VerifyResult", ("scenario",)),
    Function("plan", "plan", "PlanResult", ("scenario",)),
    Function("sweep", "sweep", "SweepResult", ("scenario",)),
    Function("compare", "compare", "CompareResult", ("scenario", "second")),
    Function("sensitivity", "sensitivity", "SensitivityResult", ("scenario",)),
    Function("campaign", "campaign", "CampaignResult", ("scenario", "campaign")),
    Function("validate", "validate", "ValidateResult", ("files",)),
    Function("topology", "topology show", "TopologyResult", ("cluster",)),
    Function("replay", "replay", "ReplayResult", ("trace",)),
    Function("query", "query", "QueryResult", ("store", "sql")),
    Function("export_schedule", "schedule export", "str", ("collective",)),
)

# What Python has in other ways: figure(), save_report(), to_dict(), its own assert.
LEFT_OUT = {"help", "color", "wide", "plot", "plot_of", "report", "assert_"}

#: kind by the option, else by the type of its value
BY_NAME = {
    "--cluster": "cluster", "cluster": "cluster", "--model": "model", "campaign": "campaign",
    "--current": "scenario", "--schedule": "schedules", "--against": "scenarios",
    "scenario": "scenario", "second": "scenario", "--job": "texts", "collective": "list",
}  # fmt: skip
BY_TYPE = {
    "N": "integer", "A..B": "range", "AxB": "dimensions", "KEY=VALUE": "assignments",
    "KEY=VALUES": "vary", "KEY=VALUE,...": "settings", "LINK SETTINGS": "pairs",
    "RANK SETTINGS": "pairs", "RANKS SETTINGS": "pairs", "RANKS=SPEED": "assignments",
    "NAME=SHARE": "assignments", "LIST": "list", "METRIC,METRIC...": "list",
}  # fmt: skip
ANNOTATIONS = {
    "flag": "bool", "integer": "int", "text": "Text", "texts": "Texts", "list": "Texts",
    "range": "Union[str, range, Sequence[int]]", "dimensions": "Union[str, Sequence[int]]",
    "assignments": "Assignments", "vary": "Assignments", "settings": "Assignments",
    "pairs": "Pairs", "scenario": "ScenarioLike", "scenarios": "ScenariosLike",
    "cluster": "ClusterLike", "model": "ModelLike", "campaign": "CampaignLike",
    "schedules": "SchedulesLike",
}  # fmt: skip

HEADER = '''\
# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

'''


def command_of(path: str) -> dict[str, Any]:
    words = path.split()
    out = _native.describe(words[0])
    for word in words[1:]:
        out = next(each for each in out["commands"] if each["name"] == word)
    return out


def keyword_of(option: dict[str, Any]) -> str:
    longs = [name for name in option["names"] if name.startswith("--")]
    name = option["positional"] or (longs or option["names"])[0]
    # "--algorithms,--algorithm": the singular, as on other commands.
    if name.endswith("s") and name[:-1] in longs:
        name = name[:-1]
    out = name.lstrip("-").replace("-", "_")
    return out + "_" if keyword.iskeyword(out) else out


def flag_of(option: dict[str, Any]) -> str:
    if option["positional"]:
        return ""
    return next((n for n in option["names"] if n.startswith("--")), option["names"][0])


def kind_of(option: dict[str, Any]) -> str:
    name = flag_of(option) or option["positional"]
    if option["values"] == 0:
        return "flag"
    if name in BY_NAME:
        return BY_NAME[name]
    kind = option["type"]
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if kind.endswith(",..."):
        return "list"
    return "texts" if option["repeatable"] else "text"


def in_keywords(text: str, options: list[dict[str, Any]]) -> str:
    """A help text with options as keywords."""
    names = {name: keyword_of(option) for option in options for name in option["names"]}
    return re.sub(
        r"(?<![\w-])--?[a-z][a-z-]*",
        lambda found: f"`{names[found[0]]}`" if found[0] in names else found[0],
        text,
    )


def doc_of(function: Function, command: dict[str, Any], options: list[dict[str, Any]]) -> str:
    lines = [f'"""{command["summary"]}.', "", f"    The command `lockstep {function.command}`.", ""]
    for option in options:
        text = in_keywords(re.sub(r"\s+", " ", option["help"]), options)
        if option["default"] and "default" not in text:
            text += f" (default: {option['default']})"
        lines += textwrap.wrap(
            f"{keyword_of(option)}: {text}", 90, initial_indent="    ", subsequent_indent="        "
        )
    lines += textwrap.wrap(
        "progress: Called with a `Progress` while it runs; what it raises ends the run",
        92, initial_indent="    ", subsequent_indent="        ",
    )  # fmt: skip
    lines.append('    """')
    text = "\n".join(lines).replace("\\", "\\\\")
    return text


def typing_names(text: str) -> str:
    return ", ".join(n for n in ("Optional", "Sequence", "Union") if re.search(rf"\b{n}\[", text))


def function_text(function: Function) -> tuple[str, str]:
    command = command_of(function.command)
    is_text = function.result == "str"
    left_out = LEFT_OUT | (set() if is_text else {"format"})
    options = [o for o in command["options"] if keyword_of(o) not in left_out]
    if is_text:
        options = [o for o in options if keyword_of(o) != "output"]
    by_keyword = {keyword_of(o): o for o in options}
    order = [by_keyword.pop(name) for name in function.first]
    positional = [o for o in by_keyword.values() if o["positional"]]
    options = order + positional + [o for o in by_keyword.values() if not o["positional"]]
    table = f"_{function.name.upper()} = (\n"
    for option in options:
        flag = flag_of(option)
        others = [name for name in option["names"] if name != flag]
        names = ",".join([flag, *others]) if flag else ""
        table += f'    ("{keyword_of(option)}", "{names}", "{kind_of(option)}"),\n'
    table += ")\n"
    out = ""
    if not is_text:
        out = f'@command({function.result}, "{function.command}", _{function.name.upper()})\n'
    out += f"def {function.name}(\n"
    starred = False
    for option in options:
        name, kind = keyword_of(option), kind_of(option)
        if not option["positional"] and name not in function.first and not starred:
            out += "    *,\n"
            starred = True
        annotation = ANNOTATIONS[kind]
        if kind == "flag":
            out += f"    {name}: bool = False,\n"
        elif option["required"] and name in function.first:
            out += f"    {name}: {annotation},\n"
        else:
            out += f"    {name}: Optional[{annotation}] = None,\n"
    if is_text:
        out += ") -> str:\n    " + doc_of(function, command, options).rsplit("    progress", 1)[0]
        out += '    """\n'
        table_name = f"_{function.name.upper()}"
        out += f'    return execute_text("{function.command}", {table_name}, locals())\n'
        return table, out
    out += "    progress: Optional[OnProgress] = None,\n"
    out += f") -> {function.result}:\n    {doc_of(function, command, options)}\n"
    out += (
        f"    return execute({function.result}, "
        f'"{function.command}", _{function.name.upper()}, locals(), progress)\n'
    )
    return table, out


def text_of(function: Function) -> str:
    table, body = function_text(function)
    types = ("Assignments", "CampaignLike", "ClusterLike", "ModelLike", "Pairs", "ScenarioLike",
             "ScenariosLike", "SchedulesLike", "Text", "Texts")  # fmt: skip
    used = [name for name in types if re.search(rf"\b{name}\b", body)]
    out = HEADER
    if typing := typing_names(body):
        out += f"from typing import {typing}\n\n"
    is_text = function.result == "str"
    names = "execute_text" if is_text else "OnProgress, command, execute"
    out += f"from lockstep._call import {names}\n"
    listed = "".join(f"    {name},\n" for name in used)
    out += f"from lockstep.commands._types import (\n{listed})\n"
    if not is_text:
        out += f"from lockstep.results import {function.result}\n"
    return f"{out}\n{table}\n\n{body}"


def package_text() -> str:
    names = sorted(f.name for f in FUNCTIONS)
    out = HEADER + "".join(f"from lockstep.commands.{n} import {n}\n" for n in names)
    return out + "\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"


def main() -> None:
    files = {f"{f.name}.py": text_of(f) for f in FUNCTIONS}
    doc = '"""The functions that simulate, one for each command."""\n\n'
    files["__init__.py"] = package_text().replace("from __future__", doc + "from __future__", 1)
    for name, new in files.items():
        path = FOLDER / name
        if "--check" not in sys.argv:
            path.write_text(new)
        elif not path.exists() or path.read_text() != new:
            sys.exit(f"{path} is not of these options; run tools/python/write_commands.py")


if __name__ == "__main__":
    main()
