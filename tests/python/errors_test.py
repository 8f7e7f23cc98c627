"""Errors have their place, value and hint; nothing is ignored."""

import json
import os
import pickle
import tempfile
import unittest

import lockstep

SOURCE = os.environ["LOCKSTEP_SOURCE_DIR"]


def scenario():
    with open(f"{SOURCE}/configs/scenarios/pipeline-1f1b.json") as file:
        return json.load(file)


class Errors(unittest.TestCase):
    def test_a_dict_is_reported_by_its_pointer(self):
        wrong = scenario()
        wrong["cluster"]["ranks"] = "four"
        wrong["parallel"]["ppp"] = 3
        with self.assertRaises(lockstep.ConfigError) as caught:
            lockstep.run(wrong)
        error = caught.exception
        self.assertEqual((error.file, error.pointer), ("scenario (dict)", "/cluster/ranks"))
        self.assertEqual((error.key, error.value), ("ranks", "four"))
        self.assertEqual(error.hint, "expected an integer from 1 to 16777216")
        self.assertEqual(len(error.problems), 2)
        self.assertEqual(error.problems[1].key, "ppp")
        self.assertEqual(error.problems[1].value, 3)
        self.assertEqual(error.problems[1].hint, 'did you mean "pp"?')
        self.assertIsInstance(error, ValueError)
        # A dict has no lines, and no name but what it was given as.
        self.assertEqual((error.line, error.column), (0, 0))
        self.assertEqual(
            str(error).splitlines()[0],
            'scenario (dict): /cluster/ranks: expected an integer from 1 to 16777216, got "four"',
        )
        self.assertEqual(repr(error), f"ConfigError({str(error)!r})")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.problems, repr(again)), (error.problems, repr(error)))

    def test_dicts_are_named_by_what_they_were_given_as(self):
        device = {**lockstep.Device.shipped("h100-sxm5-80gb").to_dict(), "kind": 3}
        cluster = {**lockstep.Cluster.shipped("dgx-h100").to_dict(), "device": device}
        for call, file, key in (
            (lambda: lockstep.topology({"name": 3}), "cluster (dict)", "name"),
            (lambda: lockstep.topology(cluster), "device (dict)", "kind"),
            (lambda: lockstep.plan(model={"layers": -1}, cluster="dgx-h100"), "model (dict)", "layers"),
            (lambda: lockstep.campaign("pipeline-1f1b", {"days": 3}), "campaign (dict)", "days"),
            (lambda: lockstep.run("pipeline-1f1b", set={"parallel.ppp": 3}),
             "set parallel.ppp=3", "ppp"),
        ):  # fmt: skip
            with self.subTest(file=file), self.assertRaises(lockstep.ConfigError) as caught:
                call()
            error = caught.exception
            self.assertIn(key, [problem.key for problem in error.problems])
            self.assertEqual({problem.file for problem in error.problems}, {file})
            self.assertNotRegex(repr(error), "[0-9a-f]{16}")

    def test_values_of_keys_with_a_unit_are_numbers(self):
        device = lockstep.Device.shipped("h100-sxm5-80gb").to_dict()
        for wrong, got in (("fast", '"fast"'), (None, "null"), (True, "true"), ([1], "[1]")):
            device["memory"] = {"size": device["memory"]["size"], "bandwidth_GBps": wrong}
            cluster = lockstep.Cluster.shipped("dgx-h100").replace(device=device)
            with self.subTest(wrong=wrong), self.assertRaises(lockstep.ConfigError) as caught:
                lockstep.topology(cluster)
            error = caught.exception
            self.assertEqual((error.file, error.pointer), ("device (dict)", "/memory/bandwidth_GBps"))
            self.assertEqual((error.key, error.value), ("bandwidth_GBps", wrong))
            self.assertEqual(
                error.problems[0].message,
                f"expected a number in GB/s, as bandwidth_GBps says, got {got}",
            )
            self.assertEqual(len(error.problems), 1)  # not also that "bandwidth" is missing

    def test_numbers_that_json_does_not_have_are_named(self):
        cluster = lockstep.Cluster.shipped("dgx-h100").to_dict()
        cluster["fabric"] = {"links": [{"latency_us": float("nan")}]}
        with self.assertRaisesRegex(lockstep.RequestError, "^cluster: /fabric/links/0/latency_us: .*nan"):
            lockstep.topology(cluster)

    def test_a_file_is_reported_by_line_and_column(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/own.json"
            with open(path, "w") as file:
                file.write('{"name": "x",\n "cluster": {"file": "dgx-a100"},\n "modle": 3}\n')
            with self.assertRaises(lockstep.ConfigError) as caught:
                lockstep.run(path)
        error = caught.exception
        self.assertEqual(error.file, path)
        problem = next(each for each in error.problems if each.key == "modle")
        # The key begins in the second column of the third line.
        self.assertEqual((problem.line, problem.column), (3, 2))
        self.assertEqual(problem.hint, 'did you mean "model"?')

    def test_values_of_files_are_looked_up(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/own.json"
            wrong = scenario()
            wrong["parallel"]["pp"] = -4
            with open(path, "w") as file:
                json.dump(wrong, file)
            with self.assertRaises(lockstep.ConfigError) as caught:
                lockstep.run(path)
            self.assertEqual((caught.exception.key, caught.exception.value), ("pp", -4))

    def test_missing_files(self):
        with self.assertRaises(lockstep.ConfigError) as caught:
            lockstep.run("none/such.json")
        self.assertEqual(caught.exception.file, "none/such.json")
        self.assertIn("no such file", str(caught.exception))

    def test_unknown_keywords_are_refused(self):
        with self.assertRaises(TypeError):
            lockstep.run("pipeline-1f1b", netwrok="fluid")
        with self.assertRaises(TypeError):
            lockstep.run("pipeline-1f1b", "queue")

    def test_misspelled_keywords_have_what_was_meant(self):
        for call, meant in (
            (lambda: lockstep.run("pipeline-1f1b", netwrok="fluid"), "network"),
            (lambda: lockstep.collective("all_reduce", sizes="1M"), "size"),
        ):
            with self.assertRaisesRegex(TypeError, f"did you mean '{meant}'[?]"):
                call()

    def test_values_that_json_does_not_have(self):
        for value in ({1}, float("nan"), object()):
            with self.assertRaisesRegex(lockstep.RequestError, "expected a value of JSON"):
                lockstep.run("pipeline-1f1b", set={"parallel.micro_batch": value})

    def test_values_are_named_by_their_keyword(self):
        cases = (
            (lambda: lockstep.run("pipeline-1f1b", network="fuid"), "network", "alpha-beta"),
            (lambda: lockstep.collective("all_reduce", algorithm="rng"), "algorithm", "ring"),
            (lambda: lockstep.collective("all_reduce", cluster="star", nodes="2"), "nodes", "int"),
            (lambda: lockstep.run("pipeline-1f1b", classes=1), "classes", "True or False"),
            (lambda: lockstep.run("pipeline-1f1b", set_rank=[3]), "set_rank", "pairs"),
            (lambda: lockstep.run("pipeline-1f1b", steps=2), "steps", "job"),
            (lambda: lockstep.collective("all_reduce", size="1M", minbytes="1K"),
             "size", "minbytes"),
            (lambda: lockstep.run(3), "scenario", "a dict"),
            (lambda: lockstep.run({"cluster": {1, 2}}), "scenario", "JSON"),
        )
        for call, place, said in cases:
            with self.subTest(place=place):
                with self.assertRaises(lockstep.RequestError) as caught:
                    call()
                self.assertEqual(caught.exception.place, place)
                self.assertIn(said, str(caught.exception))
                self.assertNotIn("--", str(caught.exception))

    def test_a_bad_rank_is_named(self):
        with self.assertRaisesRegex(lockstep.RequestError, "set_rank 900: .* ranks 0 to 63"):
            lockstep.run("zero-7b5-3", set_rank={900: 0.5}, suggest=0)

    def test_what_is_no_result_is_refused(self):
        with self.assertRaisesRegex(lockstep.RequestError, "prints no result but a text"):
            lockstep.plan("llama7b-256", emit="slurm", shards=2)
        jobs = lockstep.run("zero-7b5-3", job="pipeline-1f1b cluster.nodes=1")
        with self.assertRaisesRegex(lockstep.RequestError, "several jobs has no timeline"):
            jobs.timeline

    def test_unknown_names(self):
        with self.assertRaisesRegex(lockstep.RequestError, 'no scenario named "nope"'):
            lockstep.run("nope")
        with self.assertRaisesRegex(lockstep.RequestError, 'did you mean "all_reduce"'):
            lockstep.collective("all_redcue")

    def test_what_does_not_fit_has_its_result(self):
        with self.assertRaises(lockstep.DoesNotFit) as caught:
            lockstep.run("llama7b-256", set={"parallel.global_batch": 4096, "parallel.tp": 1,
                                             "parallel.pp": 1, "parallel.dp": 256,
                                             "parallel.micro_batch": 16})  # fmt: skip
        error = caught.exception
        self.assertIsInstance(error, lockstep.NegativeResult)
        self.assertFalse(error.result.fits)
        self.assertIsNone(error.result.step_time_s)
        self.assertGreater(error.result.peak_memory_bytes, error.result.memory.capacity_bytes)

    def test_files_that_cannot_be_written(self):
        with self.assertRaises(lockstep.OutputError) as caught:
            lockstep.run("pipeline-1f1b", trace="/nonexistent/folder/trace.json")
        self.assertIsInstance(caught.exception, OSError)
        self.assertIn("/nonexistent/folder", str(caught.exception))

    def test_pickles(self):
        for call in (lambda: lockstep.run("nope"), lambda: lockstep.run({"name": "x"})):
            with self.assertRaises(lockstep.LockstepError) as caught:
                call()
            again = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual(str(again), str(caught.exception))
            self.assertIs(type(again), type(caught.exception))

    def test_nothing_is_left_of_a_failed_call(self):
        for _ in range(3):
            with self.assertRaises(lockstep.LockstepError):
                lockstep.run({"name": "x"})
        self.assertGreater(lockstep.run("pipeline-1f1b").step_time_s, 0)


if __name__ == "__main__":
    unittest.main()
