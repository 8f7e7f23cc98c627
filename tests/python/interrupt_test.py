"""Ctrl-C ends every use case: KeyboardInterrupt instead of the result of a job that takes long.

How long it takes until then is measured by tests/bench/python_bench.py.
"""

import os
import signal
import subprocess
import sys
import threading
import unittest

import lockstep

# Jobs of many seconds, also in one phase: none ends before the signal does.
LONG = {
    "run": 'lockstep.run("llama3-70b", fidelity="all", fold="off", suggest=100)',
    "collective": 'lockstep.collective("all_reduce", cluster="star", ranks=8192, fold="off")',
    "explain": 'lockstep.explain("all_to_all", ranks=1000)',
    "complexity": 'lockstep.complexity("all_to_all", ranks="2..4096")',
    "verify": 'lockstep.verify("all_reduce", ranks="2..128")',
    "plan": 'lockstep.plan("llama3-70b", budget=10000)',
    "sweep": 'lockstep.sweep("llama3-70b", vary={"parallel.global_batch": range(128, 4096, 128)})',
    "campaign": 'lockstep.campaign("llama7b-256", "typical-failures", replicates=10000)',
    "sensitivity": 'lockstep.sensitivity("llama3-70b")',
    "save_report": 'lockstep.run("llama3-70b").save_report(os.devnull)',
}

SCRIPT = """
import os, signal, threading
import lockstep
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {call}
    print("ended")
except KeyboardInterrupt:
    print("interrupted")
print(lockstep.run("pipeline-1f1b").fits)
"""


class Interrupt(unittest.TestCase):
    def test_each_use_case(self):
        for name, call in LONG.items():
            with self.subTest(name=name):
                done = subprocess.run(
                    [sys.executable, "-c", SCRIPT.format(call=call)],
                    capture_output=True, text=True,
                )  # fmt: skip
                self.assertEqual(done.stdout, "interrupted\nTrue\n", done.stderr)
                # What still ran was left without harm at the end of the process.
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_uncaught_one_ends_the_process_as_python_does(self):
        call = LONG["collective"]
        script = SCRIPT.format(call=call).replace("except KeyboardInterrupt", "except ValueError")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertIn("KeyboardInterrupt", done.stderr)
        self.assertEqual(done.returncode, -signal.SIGINT)

    def test_own_handlers_are_called(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(True))
        try:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            lockstep.verify("all_reduce", ranks="2..16")
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(seen, [True])


if __name__ == "__main__":
    unittest.main()
