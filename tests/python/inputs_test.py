"""Scenarios, clusters, devices and models as dicts, files and typed classes."""

import json
import os
import pathlib
import pickle
import tempfile
import unittest

import lockstep
from lockstep import Cluster, Device, Model, Scenario

CONFIGS = pathlib.Path(os.environ["LOCKSTEP_SOURCE_DIR"]) / "configs"


class Inputs(unittest.TestCase):
    def test_names_files_dicts_and_objects_are_the_same(self):
        path = CONFIGS / "scenarios" / "pipeline-1f1b.json"
        values = json.loads(path.read_text())
        expected = lockstep.run("pipeline-1f1b").fingerprint
        for scenario in (path, str(path), values, Scenario(values), Scenario.from_file(path)):
            self.assertEqual(lockstep.run(scenario).fingerprint, expected)

    def test_clusters_models_and_devices_in_memory(self):
        cluster = Cluster.from_file(CONFIGS / "clusters" / "dgx-a100.json")
        model = Model.from_file(CONFIGS / "models" / "gpt3-6.7b.json")
        device = Device.from_file(CONFIGS / "devices" / "a100-sxm4-80gb.json")
        parallel = {"pp": 4, "micro_batch": 1, "global_batch": 16, "precision": "fp16",
                    "schedule": "1f1b"}  # fmt: skip
        expected = lockstep.run("pipeline-1f1b")
        for of_cluster in (cluster, cluster.to_dict(), "dgx-a100"):
            if isinstance(of_cluster, dict):
                of_cluster = Cluster(of_cluster)
            for of_model in ({"file": model, "vocab": 1}, {"file": "gpt3-6.7b", "vocab": 1}):
                scenario = Scenario(cluster=of_cluster, ranks=4, model=of_model, parallel=parallel)
                self.assertEqual(lockstep.run(scenario).step_time_s, expected.step_time_s)
        # A device of another name is not one of those whose collectives were measured.
        own = Scenario(cluster=cluster.replace(device=device), ranks=4, parallel=parallel,
                       model={"file": model, "vocab": 1})  # fmt: skip
        self.assertEqual(
            lockstep.run(own).breakdown.computation_s, expected.breakdown.computation_s
        )

    def test_a_changed_device_changes_the_step(self):
        device = Device.from_file(CONFIGS / "devices" / "a100-sxm4-80gb.json")
        cluster = Cluster.from_file(CONFIGS / "clusters" / "dgx-a100.json")
        slow = device.to_dict()
        slow["memory"]["bandwidth"]["value"] = "200 GB/s"
        times = [
            lockstep.run(
                Scenario(cluster=cluster.replace(device=of), ranks=4, model="gpt3-6.7b",
                         parallel={"pp": 4, "global_batch": 4, "micro_batch": 1})
            ).step_time_s
            for of in (device, Device(slow), slow)
        ]  # fmt: skip
        self.assertGreater(times[1], times[0])
        self.assertEqual(times[1], times[2])

    def test_whole_files_as_dicts_within_a_scenario(self):
        parallel = {"tp": 8, "global_batch": 8}
        cluster = Cluster.shipped("dgx-h100").to_dict()
        model = Model.shipped("llama3-8b").to_dict()
        self.assertIn("$schema", model)
        expected = lockstep.run(
            Scenario(cluster="dgx-h100", nodes=1, model="llama3-8b", parallel=parallel)
        ).step_time_s
        for scenario in (
            Scenario(cluster=cluster, nodes=1, model=model, parallel=parallel),
            {"name": "x", "cluster": {**cluster, "nodes": 1}, "model": model, "parallel": parallel},
            {"name": "x", "cluster": {"file": cluster, "nodes": 1}, "model": {"file": model},
             "parallel": parallel},
        ):  # fmt: skip
            self.assertEqual(lockstep.run(scenario).step_time_s, expected)
        own = {"gpu": Device.shipped("h100-sxm5-80gb").replace(name="Own"), "gpus": 8,
               "gpus_per_node": 8}  # fmt: skip
        step = lockstep.run({"name": "x", "cluster": own, "model": model, "parallel": parallel})
        self.assertEqual(step.config.cluster.gpu, "Own")

    def test_results_name_dicts_as_users_know_them(self):
        # A device by its own name, a file by what it was given as; never by the name in memory.
        device = Device.shipped("h100-sxm5-80gb").replace(name='own "GPU" <1>')
        cluster = Cluster.shipped("dgx-h100").replace(device=device)
        scenario = Scenario(cluster=cluster, nodes=1, model="llama3-8b",
                            parallel={"tp": 8, "global_batch": 8})  # fmt: skip
        table = lockstep.topology(cluster)
        self.assertEqual(table.rows[0].device, 'own "GPU" <1>')
        self.assertEqual(table.config.cluster.device, 'own "GPU" <1>')
        self.assertEqual(table.config.cluster.file, "cluster (dict)")
        step = lockstep.run(scenario)
        with tempfile.TemporaryDirectory() as folder:
            for result in (table, step, lockstep.collective("all_reduce", cluster=cluster)):
                result.save_report(f"{folder}/page.html")
                page = pathlib.Path(f"{folder}/page.html").read_text()
                texts = [result.to_json(), result._repr_html_(), repr(result), page, *result.notes]
                if result.figures:
                    texts.append(result.figure())
                for text in texts:
                    self.assertNotRegex(text, "(device|cluster|scenario)-[0-9a-f]{16}")
        self.assertIn("own &quot;GPU&quot; &lt;1&gt;", table._repr_html_())
        # A result is simulated again with the dicts that it came from, also out of a pickle.
        for again in (step, pickle.loads(pickle.dumps(step))):
            self.assertEqual(lockstep.run(again).fingerprint, step.fingerprint)

    def test_clusters_of_collectives(self):
        cluster = Cluster.from_file(CONFIGS / "clusters" / "dgx-a100.json")
        values = [
            lockstep.collective("all_reduce", cluster=of, nodes=2, size="1M").fingerprint
            for of in ("dgx-a100", cluster, cluster.to_dict(), CONFIGS / "clusters/dgx-a100.json")
        ]
        self.assertEqual(len(set(values)), 1)

    def test_campaigns(self):
        campaign = lockstep.Campaign.from_file(CONFIGS / "campaigns" / "typical-failures.json")
        times = [
            lockstep.campaign("llama7b-256", of, replicates=5).outcomes[0].fingerprint
            for of in ("typical-failures", campaign)
        ]
        self.assertEqual(times[0], times[1])

    def test_objects_do_not_change(self):
        model = Model(file="llama3-8b")
        with self.assertRaises(AttributeError):
            model.file = "other"
        self.assertEqual(model.replace(layers=4).to_dict(), {"file": "llama3-8b", "layers": 4})
        self.assertEqual(model.to_dict(), {"file": "llama3-8b"})
        self.assertEqual(pickle.loads(pickle.dumps(model)), model)
        self.assertIn("llama3-8b", repr(model))

    def test_saved_files_are_those_of_the_command_line(self):
        scenario = Scenario(
            cluster="dgx-a100", ranks=4, model={"file": "gpt3-6.7b", "vocab": 1},
            parallel={"pp": 4, "micro_batch": 1, "global_batch": 16},
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            scenario.save(f"{folder}/own.json")
            self.assertEqual(
                lockstep.run(f"{folder}/own.json").fingerprint, lockstep.run(scenario).fingerprint
            )
            with self.assertRaises(lockstep.RequestError):
                with open(f"{folder}/list.json", "w") as file:
                    file.write("[]")
                Scenario.from_file(f"{folder}/list.json")

    def test_without_effect_is_noted(self):
        noted = lockstep.run("pipeline-1f1b", set={"parallel.bucket": "50 MB"})
        self.assertTrue(noted.to_dict()["without_effect"])


if __name__ == "__main__":
    unittest.main()
