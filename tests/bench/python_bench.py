#!/usr/bin/env python3
"""What the Python module adds to the simulator: import, calls, a sweep, ctrl-C.

PYTHONPATH=build/release/python /usr/bin/python3 tests/bench/python_bench.py build/release/lockstep
"""

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import timeit

import lockstep
from lockstep import _native
from lockstep.inputs import Memory, word_of

BINARY = sys.argv[1] if len(sys.argv) > 1 else "build/release/lockstep"
SWEEP = {"vary": {"micro_batch": [1, 2, 4], "pp": [1, 2, 4], "tp": [1, 2, 4, 8]}}
WORDS = "--vary micro_batch=1,2,4 --vary pp=1,2,4 --vary tp=1,2,4,8".split()


def line(what, value):
    print(f"| {what} | {value} |")


def import_time():
    code = "import time; t = time.perf_counter(); import lockstep; print(time.perf_counter() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(15)]
    line("import", f"{1e3 * statistics.median(times):.1f} ms")


def calls():
    step = lockstep.run("pipeline-1f1b")
    table = step.table()
    for what, call in (
        ("units.parse()", lambda: lockstep.units.parse("400 Gb/s")),
        ("an attribute of a result", lambda: step.step_time_s),
        ("a native function", lambda: _native.parse_quantity("400 Gb/s")),
        ("a numpy view of a column", lambda: table.view("step_time_s")),
    ):
        best = min(timeit.repeat(call, number=20000, repeat=5)) / 20000
        line(what, f"{1e6 * best:.2f} us")


def overhead(call):
    """What a call adds, in us, as medians in a loop of the same call: over the same command in C++,
    over its use case, and the time of that.

    The command in C++ is `run_command()` with the words that the call makes, timed around it in the
    same call: options, the request, the use case. The use case is to read the files that the call
    names and the function of tools/app that the command is for, with a request that is there
    (`list_*()`: what is listed, as rows). The rest of a call: keywords, values, the GIL, signals,
    the result as an object. JSON and tables are made when they are first asked for."""
    call(), call()  # afterwards there is a parser, and it is known that the command is brief
    over_command, over_work, works = [], [], []
    for _ in range(300):
        result = None  # freed before
        begun = time.perf_counter()
        result = call()
        took = time.perf_counter() - begun
        over_command.append(took - result._answer.command_s)
        over_work.append(took - result._answer.work_s)
        works.append(result._answer.work_s)
    return [1e6 * statistics.median(each) for each in (over_command, over_work, works)]


def native_call_after(call):
    """What any call of a native function takes after such work: the caches are full of it."""
    times = []
    for _ in range(300):
        result = call()
        begun = time.perf_counter()
        _native.parse_quantity("400 Gb/s")
        times.append(time.perf_counter() - begun)
        del result
    return 1e6 * statistics.median(times)


def commands():
    star = {"cluster": "star", "ranks": 4}
    print("\n| in us | use case | a call adds to the command in C++ | any native call after it "
          "| a call adds to the use case |\n|---|---:|---:|---:|---:|")  # fmt: skip
    for what, call in (
        ("list_topologies()", lockstep.list_topologies),
        ("list_algorithms()", lockstep.list_algorithms),
        ("topology() of a star", lambda: lockstep.topology("star", ranks=4)),
        ("collective() with 4 options", lambda: lockstep.collective(
            "all_reduce", algorithm="ring", size="64K", **star)),
        ("explain() with 1 option", lambda: lockstep.explain("all_reduce", ranks=4)),
        ("verify() with 2 options", lambda: lockstep.verify(
            "all_reduce", algorithm="ring", ranks=4)),
        ("complexity() with 2 options", lambda: lockstep.complexity(
            "all_reduce", algorithm="ring", ranks="2..4")),
        ("list_devices()", lockstep.list_devices),
        ("run() of a scenario", lambda: lockstep.run("pipeline-1f1b")),
    ):  # fmt: skip
        over_command, over_work, work = overhead(call)
        floor = native_call_after(call)
        print(f"| {what} | {work:.0f} | {over_command:.1f} | {floor:.1f} | {over_work:.1f} |")
    print("\n| | |\n|---|---:|")
    times = []
    for _ in range(300):
        result = lockstep.explain("all_reduce", ranks=4)
        begun = time.perf_counter()
        result.to_json()
        times.append(time.perf_counter() - begun)
    line("the JSON of explain(), when it is asked for", f"{1e6 * statistics.median(times):.0f} us")
    code = (
        "import time, lockstep; t = time.perf_counter(); r = lockstep.list_topologies(); "
        "print(time.perf_counter() - t - r._answer.work_s)"
    )
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9)]
    line("the first call of a command, with its parser and a thread",
         f"{1e6 * statistics.median(times):.0f} us")  # fmt: skip
    scenario = lockstep.Scenario.shipped("pipeline-1f1b").to_dict()
    best = min(timeit.repeat(lambda: word_of("scenario", scenario, Memory()), number=200, repeat=5))
    line("a scenario as a dict, in addition", f"{1e6 * best / 200:.0f} us")


def sweep():
    """Each after the other, several times: the machine may be slow for a while."""
    ratios = []
    for _ in range(5):
        begun = time.perf_counter()
        printed = subprocess.check_output(
            [BINARY, "sweep", "llama7b-256", *WORDS, "--format", "json"], text=True
        )
        between = time.perf_counter()
        result = lockstep.sweep("llama7b-256", **SWEEP)
        ended = time.perf_counter()
        assert result.to_json() == printed
        ratios.append((ended - between) / (between - begun))
    line("a sweep of 36 points, over the command line's time", f"{statistics.median(ratios):.3f}")


def interrupts():
    for what, call in (
        ("run of 512 GPUs, unfolded", lambda: lockstep.run("llama3-70b", fold="off",
                                                             fidelity="all", suggest=100)),
        ("collective of 8192 ranks", lambda: lockstep.collective("all_reduce", cluster="star",
                                                                 ranks=8192, fold="off")),
        ("plan", lambda: lockstep.plan("llama3-70b", budget=10000)),
        ("sweep", lambda: lockstep.sweep("llama3-70b", vary={"parallel.global_batch":
                                                             range(128, 4096, 128)})),
    ):  # fmt: skip
        sent = []

        def send():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(1.0, send).start()
        try:
            call()
            line(f"ctrl-C during {what}", "ended before")
            raise SystemExit("a longer job is needed")
        except KeyboardInterrupt:
            line(f"ctrl-C during {what}", f"{1e3 * (time.perf_counter() - sent[0]):.0f} ms")
            time.sleep(1)  # what is left ends


print("| | |\n|---|---:|")
import_time()
calls()
commands()
sweep()
interrupts()
