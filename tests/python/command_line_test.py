"""What Python returns is what the command line prints, byte for byte."""

import ast
import atexit
import functools
import inspect
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import lockstep
from lockstep import _native

BINARY = os.environ["LOCKSTEP_BINARY"]
SOURCE = os.environ["LOCKSTEP_SOURCE_DIR"]
MEASURED = f"{SOURCE}/tests/data/validation/runs.json"

PAIR = f"{SOURCE}/tests/data/goal/pair.goal"
CHAKRA = f"{SOURCE}/tests/data/chakra/pair"
SQL = "select * from simulated order by 1"


@functools.lru_cache(None)
def store():
    """Of a sweep."""
    path = f"{tempfile.mkdtemp()}/sweep.db"
    atexit.register(shutil.rmtree, os.path.dirname(path))
    lockstep.sweep("pipeline-1f1b", vary={"micro_batch": [1, 2]}, store=path)
    return path


# A call, and the same as words. The expectation is the output of the command of the same build.
CASES = (
    (lambda: lockstep.run("pipeline-1f1b"), "run pipeline-1f1b"),
    (
        lambda: lockstep.run("llama7b-256", set={"parallel.tp": 4, "parallel.dp": 16}, nic="200G"),
        "run llama7b-256 --set parallel.tp=4 --set parallel.dp=16 --nic 200G",
    ),
    (
        lambda: lockstep.run("zero-7b5-3", set_rank={17: {"compute": 0.8}}, classes=True),
        "run zero-7b5-3 --set-rank 17 compute=0.8 --classes",
    ),
    (
        lambda: lockstep.run("zero-7b5-3", job="pipeline-1f1b cluster.nodes=1", place="spread"),
        ["run", "zero-7b5-3", "--job", "pipeline-1f1b cluster.nodes=1", "--place", "spread"],
    ),
    (
        lambda: lockstep.collective(
            "all_reduce", cluster="dgx-h100", nodes=2, algorithm=["ring", "sharp"], size=["64K", 8]
        ),
        "collective all_reduce --cluster dgx-h100 --nodes 2 --algorithm ring,sharp --size 64K,8",
    ),
    (
        lambda: lockstep.collective(
            "all_reduce", cluster="star", ranks=4, algorithm="all", crossover=True, minbytes="1K",
            maxbytes="64K",
        ),
        "collective all_reduce --cluster star --ranks 4 --algorithm all --crossover -b 1K -e 64K",
    ),
    (lambda: lockstep.explain("all_reduce", ranks=4, rounds=range(2, 4)),
     "explain all_reduce --ranks 4 --rounds 2..3"),
    (lambda: lockstep.complexity("broadcast", ranks="2..8"), "complexity broadcast --ranks 2..8"),
    (lambda: lockstep.verify("all_reduce", ranks=[2, 4]),
     "verify collective all_reduce --ranks 2,4"),
    (lambda: lockstep.verify_strategy("data-parallel-from-scratch", steps=2),
     "verify strategy data-parallel-from-scratch --steps 2"),
    (
        lambda: lockstep.plan("llama7b-256", fix={"overlap": "none"}, vary={"pp": [1, 2]}, top=2),
        "plan llama7b-256 --fix overlap=none --vary pp=1,2 --top 2",
    ),
    (lambda: lockstep.sweep("llama7b-256", vary={"micro_batch": [1, 2]}),
     "sweep llama7b-256 --vary micro_batch=1,2"),
    (lambda: lockstep.compare("pipeline-gpipe", "pipeline-1f1b"),
     "compare pipeline-gpipe pipeline-1f1b"),
    (lambda: lockstep.sensitivity("pipeline-1f1b", figure="matmul rate"),
     ["sensitivity", "pipeline-1f1b", "--figure", "matmul rate"]),
    (lambda: lockstep.campaign("llama7b-256", "typical-failures", replicates=20),
     "campaign llama7b-256 typical-failures --replicates 20"),
    (lambda: lockstep.validate(MEASURED, limit=2), ["validate", MEASURED, "--limit", "2"]),
    (lambda: lockstep.topology("dgx-h100", nodes=2), "topology show dgx-h100 --nodes 2"),
    (lambda: lockstep.list_algorithms("all_reduce", "ring"), "list algorithms all_reduce ring"),
    (lambda: lockstep.list_campaigns(), "list campaigns"),
    (lambda: lockstep.list_clusters("dgx-h100"), "list clusters dgx-h100"),
    (lambda: lockstep.list_devices(), "list devices"),
    (lambda: lockstep.list_models(), "list models"),
    (lambda: lockstep.list_scenarios(), "list scenarios"),
    (lambda: lockstep.list_spaces(), "list spaces"),
    (lambda: lockstep.list_stacks(), "list stacks"),
    (lambda: lockstep.list_precisions(), "list precisions"),
    (lambda: lockstep.list_topologies(), "list topologies"),
    (lambda: lockstep.replay(PAIR), ["replay", PAIR]),
    (lambda: lockstep.replay(CHAKRA, cluster="dgx-h100", compute="zero"),
     ["replay", CHAKRA, "--cluster", "dgx-h100", "--compute", "zero"]),
    (lambda: lockstep.query(store(), SQL), lambda: ["query", store(), SQL]),
)  # fmt: skip


class CommandLine(unittest.TestCase):
    def test_json_is_the_same(self):
        for call, words in CASES:
            words = words() if callable(words) else words
            words = words.split() if isinstance(words, str) else words
            with self.subTest(words=words):
                printed = subprocess.run(
                    [BINARY, *words, "--format", "json"], capture_output=True, text=True
                ).stdout
                result = call()
                self.assertEqual(result.to_json(), printed)
                self.assertEqual(result.to_dict(), json.loads(printed))

    def test_every_function_is_compared(self):
        # Those that simulate nothing are compared elsewhere: of inputs, of schedules.
        others = {"cluster_from_edges", "cluster_from_graph", "receive", "schedule", "send"}
        functions = {
            name for name in lockstep.__all__ if inspect.isfunction(getattr(lockstep, name))
        } - others
        with open(__file__) as file:
            called = {
                node.func.attr for node in ast.walk(ast.parse(file.read()))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            }  # fmt: skip
        self.assertEqual(functions - called, set())

    def test_exported_schedules_are_the_same(self):
        words = "schedule export all_reduce --algorithm ring --ranks 4".split()
        printed = subprocess.run([BINARY, *words], capture_output=True, text=True).stdout
        self.assertEqual(lockstep.export_schedule("all_reduce", algorithm="ring", ranks=4), printed)

    def test_twice_is_the_same(self):
        first = lockstep.run("pipeline-1f1b")
        self.assertEqual(first, lockstep.run("pipeline-1f1b"))
        self.assertEqual(hash(first), hash(lockstep.run("pipeline-1f1b")))

    def test_version(self):
        printed = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout
        self.assertEqual(printed, f"lockstep {lockstep.__version__}\n")

    def test_unknown_commands_are_refused(self):
        with self.assertRaises(lockstep.RequestError):
            _native.call(["nothing"], [], None)


if __name__ == "__main__":
    unittest.main()
