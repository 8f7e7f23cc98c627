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
    step.timeline.start_ps(0)
    best = min(timeit.repeat(lambda: lockstep.list_topologies(), number=200, repeat=5)) / 200
    line("a command that computes nothing (list_topologies)", f"{1e6 * best:.0f} us")


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
sweep()
interrupts()
