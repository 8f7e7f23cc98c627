"""save_report() writes the page that the command line writes, byte for byte."""

import os
import subprocess
import tempfile
import unittest

import lockstep


class Reports(unittest.TestCase):
    def test_reports_are_those_of_the_command_line(self):
        # The expectation is the file that the command of the same build writes.
        star = {"cluster": "star", "ranks": 4, "algorithm": "ring,direct", "minbytes": "1K",
                "maxbytes": "1M", "stepfactor": 4}  # fmt: skip
        words = "--cluster star --ranks 4 --algorithm ring,direct -b 1K -e 1M -f 4"
        for call, command in (
            # Four ranks: with the loads of links over time.
            (lambda: lockstep.run("pipeline-1f1b"), "run pipeline-1f1b --report"),
            (lambda: lockstep.run("pipeline-1f1b", suggest=6), "report pipeline-1f1b -o"),
            (lambda: lockstep.run("zero-7b5-3", set_rank={17: {"compute": 0.8}}),
             "run zero-7b5-3 --set-rank 17 compute=0.8 --report"),
            (lambda: lockstep.run("zero-7b5-3", job="pipeline-1f1b cluster.nodes=1"),
             ["run", "zero-7b5-3", "--job", "pipeline-1f1b cluster.nodes=1", "--report"]),
            (lambda: lockstep.collective("all_reduce", **star),
             f"collective all_reduce {words} --report"),
            (lambda: lockstep.collective("all_reduce", crossover=True, **star),
             f"collective all_reduce {words} --crossover --report"),
            (lambda: lockstep.complexity("all_reduce", ranks="2..8"),
             "complexity all_reduce --ranks 2..8 --report"),
            (lambda: lockstep.plan("llama7b-256", fix={"overlap": "none"}, top=2),
             "plan llama7b-256 --fix overlap=none --top 2 --report"),
            (lambda: lockstep.compare("pipeline-gpipe", "pipeline-1f1b"),
             "compare pipeline-gpipe pipeline-1f1b --report"),
            (lambda: lockstep.sensitivity("pipeline-1f1b", figure="matmul rate"),
             ["sensitivity", "pipeline-1f1b", "--figure", "matmul rate", "--report"]),
            (lambda: lockstep.campaign("llama7b-256", "typical-failures", replicates=20),
             "campaign llama7b-256 typical-failures --replicates 20 --report"),
        ):  # fmt: skip
            words = command.split() if isinstance(command, str) else command
            with self.subTest(command=words), tempfile.TemporaryDirectory() as folder:
                call().save_report(f"{folder}/ours.html")
                subprocess.run(
                    [os.environ["LOCKSTEP_BINARY"], *words, f"{folder}/theirs.html"],
                    check=True, capture_output=True,
                )  # fmt: skip
                with open(f"{folder}/ours.html") as ours, open(f"{folder}/theirs.html") as theirs:
                    self.assertEqual(ours.read(), theirs.read())


if __name__ == "__main__":
    unittest.main()
