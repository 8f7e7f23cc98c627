"""Calls one after the other: parsers are used again, brief commands need no thread of their own."""

import inspect
import os
import pickle
import pydoc
import re
import signal
import tempfile
import threading
import time
import unittest

import lockstep
from lockstep import _native

STAR = {"cluster": "star", "ranks": 4, "algorithm": "ring", "size": "64K"}


class Calls(unittest.TestCase):
    def test_no_option_is_left_of_the_call_before(self):
        # Each pair: a plain call, and one of the same command with many options. The plain one is
        # first executed by a new parser, then by one that has seen the other.
        for plain, other in (
            (
                lambda: lockstep.collective("all_reduce", cluster="star", ranks=4, size="64K"),
                lambda: lockstep.collective(
                    "broadcast", cluster="dgx-h100", nodes=1, algorithm="all", minbytes="1K",
                    maxbytes="4K", stepfactor=2, check=True, root=3, datatype="half", seed=7,
                    network="alpha-beta", set_rank={1: {"start": "1 us"}}, classes=True,
                    skew="1 us", set_link={"node0/nvswitch0": {"bandwidth": "50%"}}),
            ),
            (
                lambda: lockstep.run("pipeline-1f1b"),
                lambda: lockstep.run(
                    "pipeline-1f1b", set={"parallel.micro_batch": 2}, fidelity="all", fold="off",
                    gpu_speed="all=0.9", set_rank={0: {"compute": 0.8}}, suggest=1, classes=True,
                    no_variants=True),
            ),
            (
                lambda: lockstep.explain("all_reduce", ranks=4),
                lambda: lockstep.explain("all_gather", algorithm="ring", ranks=3, size=12,
                                         rounds=range(1, 2), datatype="half"),
            ),
            (
                lambda: lockstep.verify("all_reduce", ranks=4),
                lambda: lockstep.verify("all", algorithm="all", ranks=[2, 3], root="all", count=5),
            ),
            (
                lambda: lockstep.complexity("all_reduce", ranks="2..4"),
                lambda: lockstep.complexity("broadcast", algorithm="flat", ranks="2..16", points=3,
                                            size_small=4, size_large="1M", root=1, measured=True),
            ),
            (
                lambda: lockstep.topology("dgx-h100"),
                lambda: lockstep.topology("dgx1", seed=3, fail="node0/gpu0 -- node0/gpu1",
                                          routes="shortest"),
            ),
            (
                lambda: lockstep.campaign("llama7b-256", "typical-failures", replicates=2),
                lambda: lockstep.campaign("llama7b-256", "typical-failures", replicates=3, seed=5,
                                          change="parallel.micro_batch=2"),
            ),
            (
                lambda: lockstep.sweep("llama7b-256", vary={"micro_batch": [1, 2]}),
                lambda: lockstep.sweep("llama7b-256", vary={"tp": [2, 4], "pp": [2]}, nic="200G",
                                       set={"parallel.micro_batch": 2}),
            ),
            (lambda: lockstep.list_devices(), lambda: lockstep.list_algorithms("all_reduce")),
        ):  # fmt: skip
            first = plain()
            command = first._call.command.split()
            with self.subTest(command=command):
                try:
                    other()
                except lockstep.NegativeResult:
                    pass
                with self.assertRaises(lockstep.RequestError):
                    _native.call([*command, "--nothing=1"], [], None)
                self.assertEqual(plain(), first)

    def test_a_plain_call_is_the_same_as_any_other(self):
        # With progress= a command takes the general way, on a thread, with its text made at once.
        for call in (
            lambda **more: lockstep.collective("all_reduce", check=True, load=False, seed=None,
                                               **STAR, **more),
            lambda **more: lockstep.collective(collective="broadcast", root=2, size="1K,4K",
                                               cluster="star", ranks=4, **more),
            lambda **more: lockstep.explain("all_reduce", ranks=4, **more),
            lambda **more: lockstep.verify("all_reduce", ranks="2..5", **more),
            lambda **more: lockstep.complexity("all_gather", ranks="2..4", **more),
            lambda **more: lockstep.topology("dgx-h100", nodes=2, **more),
            lambda **more: lockstep.run("mlp-two-gpus", no_variants=True, **more),
        ):  # fmt: skip
            call()
            plain = call()
            other = call(progress=lambda event: None)
            self.assertEqual(sorted(plain._call.words), sorted(other._call.words))
            self.assertEqual(plain.figures, other.figures)
            self.assertEqual((plain.to_json(), plain.notes), (other.to_json(), other.notes))

    def test_what_is_made_later_needs_no_files(self):
        calls = (lambda: lockstep.explain("all_reduce", ranks=4), lockstep.list_devices,
                 lambda: lockstep.topology("dgx-h100"), lambda: lockstep.run("mlp-two-gpus"),
                 lambda: lockstep.complexity("all_reduce", ranks="2..4"),
                 lambda: lockstep.verify("all_reduce", ranks=4),
                 lambda: lockstep.collective("all_reduce", **STAR))  # fmt: skip
        expected = [call().to_json() for call in calls]
        results = [call() for call in calls]
        configs = _native.config_folder()
        try:
            _native.use_config_folder("/nonexistent")
            self.assertEqual([result.to_json() for result in results], expected)
        finally:
            _native.use_config_folder(configs)

    def test_functions_are_functions(self):
        for name in ("collective", "run", "verify_strategy"):
            function = getattr(lockstep, name)
            self.assertEqual((function.__name__, function.__qualname__), (name, name))
            self.assertEqual(function.__module__, f"lockstep.commands.{name}")
            self.assertIn("progress", inspect.signature(function).parameters)
            self.assertTrue(inspect.isroutine(function))
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
            self.assertIn("Called with a `Progress`", pydoc.render_doc(function))
            self.assertEqual(repr(function), f"<function lockstep.{name}>")

    def test_values_that_are_no_words(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")

        class Text(str):
            pass

        expected = lockstep.collective("all_reduce", **STAR)
        for more in ({"ranks": numpy.int64(4)}, {"size": Text("64K")}, {"size": 65536},
                     {"size": ["64K"]}, {"algorithm": ("ring",)}):  # fmt: skip
            self.assertEqual(lockstep.collective("all_reduce", **{**STAR, **more}).rows,
                             expected.rows)  # fmt: skip
        for wrong in ({"ranks": True}, {"ranks": "4"}, {"ranks": 2**70}, {"size": "\udcff"},
                      {"check": 1}):  # fmt: skip
            with self.assertRaises((lockstep.RequestError, UnicodeEncodeError)):
                lockstep.collective("all_reduce", **{**STAR, **wrong})

    def test_a_parser_that_is_used_again_has_the_errors_of_a_new_one(self):
        def message(**wrong):
            with self.assertRaises(lockstep.RequestError) as caught:
                lockstep.collective("all_reduce", **{**STAR, **wrong})
            return str(caught.exception), caught.exception.place

        for wrong in ({"size": "x"}, {"size": ""}, {"network": "none"}, {"ranks": 0},
                      {"algorithm": ""}, {"seed": -1}):  # fmt: skip
            with self.subTest(wrong=wrong):
                first = message(**wrong)
                lockstep.collective("all_reduce", **STAR)
                self.assertEqual(message(**wrong), first)
                self.assertIn(next(iter(wrong)), first[0])

    def test_keywords_are_those_of_the_signature(self):
        for call in (
            lambda: lockstep.run("pipeline-1f1b", nodse=3),
            lambda: lockstep.run(),
            lambda: lockstep.run("pipeline-1f1b", "pipeline-gpipe"),
            lambda: lockstep.run("pipeline-1f1b", scenario="pipeline-gpipe"),
        ):
            with self.assertRaisesRegex(TypeError, r"^run\(\) "):
                call()
        by_name = lockstep.compare(second="pipeline-1f1b", scenario="pipeline-gpipe")
        self.assertEqual(by_name, lockstep.compare("pipeline-gpipe", "pipeline-1f1b"))

    def test_a_brief_command_that_takes_long_goes_on_on_a_thread(self):
        # The first is brief, so that the second begins without a thread; it is given up there, and
        # its result and ctrl-C are those of any other.
        lockstep.verify("all_reduce", ranks=2)
        lockstep.verify("all_reduce", ranks=2)
        expected = lockstep.verify("all_reduce", ranks="2..16", progress=lambda event: None)
        lockstep.verify("all_reduce", ranks=2)
        lockstep.verify("all_reduce", ranks=2)
        self.assertEqual(lockstep.verify("all_reduce", ranks="2..16"), expected)
        lockstep.verify("all_reduce", ranks=2)
        lockstep.verify("all_reduce", ranks=2)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            lockstep.verify("all_reduce", ranks="2..128")

    def test_a_signal_during_a_brief_command_is_handled_after_it(self):
        lockstep.list_topologies()
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.perf_counter()))
        try:
            end = time.perf_counter() + 0.2
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            while time.perf_counter() < end:
                lockstep.list_topologies()
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(len(seen), 1)

    def test_options_that_write_files_are_known(self):
        # A command that writes is not begun twice. The expectation is the options' own help.
        writing = set()
        for name in ("run", "collective", "explain", "complexity", "plan", "sweep", "compare",
                     "sensitivity", "campaign", "validate", "replay", "query"):  # fmt: skip
            for option in _native.describe(name)["options"]:
                if re.match("Write|Append|Draw .*FILE|File to write|SQLite file that takes",
                            option["help"]) and "FILE" in option["type"]:  # fmt: skip
                    writing.add(next(n for n in option["names"] if n.startswith("--")))
        self.assertLessEqual(writing, set(_native.writing_options))
        self.assertIn("--trace", writing)
        self.assertIn("--store", writing)

    def test_rows_are_appended_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.csv"
            for _ in range(3):
                lockstep.run("pipeline-1f1b", append=path)
            with open(path) as file:
                self.assertEqual(len(file.readlines()), 4)  # a header and three rows


if __name__ == "__main__":
    unittest.main()
