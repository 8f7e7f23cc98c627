"""Results: frozen, views without copies, tables, pages, pickles."""

import json
import os
import pickle
import tempfile
import unittest
from html.parser import HTMLParser

import lockstep

try:
    import numpy
    import pandas
except ImportError:
    print("numpy or pandas is not installed: skipped")
    raise SystemExit(77)


class Balanced(HTMLParser):
    """Refuses scripts, and tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        assert tag != "script", tag
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.step = lockstep.run("pipeline-1f1b")
        cls.times = lockstep.collective(
            "all_reduce", cluster="dgx-h100", algorithm=["ring", "direct"], size=["64K", "1M"]
        )

    def test_attributes_are_the_json(self):
        document = self.step.to_dict()
        for name in ("step_time_s", "tokens_per_s", "mfu_fraction", "name", "fingerprint", "seed"):
            self.assertEqual(getattr(self.step, name), document[name])
        self.assertEqual(self.step.peak_memory_bytes, document["memory"]["peak_bytes"])
        self.assertEqual(self.step.breakdown.bubble_s, document["breakdown"]["bubble_s"])
        self.assertEqual(self.step.rows[0].tp, document["rows"][0]["tp"])

    def test_nothing_changes(self):
        with self.assertRaises(AttributeError):
            self.step.step_time_s = 1
        with self.assertRaises(AttributeError):
            self.step.other = 1
        with self.assertRaises(AttributeError):
            del self.step.notes
        with self.assertRaises(AttributeError):
            self.step.breakdown.bubble_s = 0
        self.step.to_dict()["step_time_s"] = 0
        self.assertGreater(self.step.step_time_s, 0)
        self.assertIsInstance(self.step.rows, tuple)

    def test_equal_records_are_one_in_a_set(self):
        again = lockstep.run("pipeline-1f1b")
        self.assertEqual(len({self.step.memory, again.memory}), 1)
        self.assertEqual(hash(self.step.rows), hash(again.rows))

    def test_numbers_and_arrays_of_numpy_are_values(self):
        of = {"cluster": "star", "algorithm": "ring"}
        self.assertEqual(
            lockstep.collective("all_reduce", ranks=numpy.int64(4), size=numpy.array([8, 16]), **of),
            lockstep.collective("all_reduce", ranks=4, size=[8, 16], **of),
        )
        self.assertEqual(
            lockstep.run("pipeline-1f1b", set={"parallel.micro_batch": numpy.int64(2)}),
            lockstep.run("pipeline-1f1b", set={"parallel.micro_batch": 2}),
        )
        self.assertEqual(
            lockstep.sweep("pipeline-1f1b", vary={"micro_batch": numpy.array([1, 2])}),
            lockstep.sweep("pipeline-1f1b", vary={"micro_batch": [1, 2]}),
        )

    def test_unknown_names_are_named(self):
        with self.assertRaisesRegex(AttributeError, "no 'tpp'; there are: .*tp"):
            self.step.rows[0].tpp
        with self.assertRaisesRegex(KeyError, "rows, limits, links"):
            self.step.table("nothing")
        with self.assertRaisesRegex(KeyError, "pipeline, memory"):
            self.step.figure("nothing")

    def test_the_timeline_is_a_view(self):
        timeline = self.step.timeline
        starts, ends = timeline.start_ps(0), timeline.end_of_ps(0)
        self.assertFalse(ends.flags.owndata)
        self.assertFalse(ends.flags.writeable)
        # Ends are the simulator's own memory; starts follow from them, a new array each time.
        again = timeline.start_ps(0), timeline.end_of_ps(0)
        shared = [numpy.shares_memory(*pair) for pair in zip((starts, ends), again)]
        self.assertEqual(shared, [False, True])
        self.assertEqual((starts.strides, ends.strides), ((8,), (8,)))
        self.assertTrue((ends >= starts).all())
        # The step ends when its last operation does.
        last = max(timeline.end_of_ps(rank).max() for rank in timeline.ranks)
        self.assertEqual(last, timeline.end_ps)
        self.assertEqual(timeline.end_ps, round(self.step.step_time_s * 1e12))
        self.assertEqual(len(timeline.names(0)), len(starts))
        with self.assertRaisesRegex(KeyError, "rank 99 was not simulated"):
            timeline.start_ps(99)

    def test_memory_over_time_has_the_peak(self):
        timeline = self.step.timeline
        held = timeline.memory_bytes
        self.assertFalse(held.flags.owndata)
        self.assertEqual(held.shape, (len(timeline.memory_at_ps), len(timeline.memory_categories)))
        self.assertEqual(held.sum(axis=1).max(), self.step.peak_memory_bytes)

    def test_views_outlive_their_result(self):
        starts = lockstep.run("pipeline-1f1b").timeline.start_ps(0)
        self.assertTrue((starts == self.step.timeline.start_ps(0)).all())

    def test_curves_are_views_of_the_columns(self):
        ring = self.times.curves["ring"]
        column = self.times.column("busbw_Bps")
        self.assertFalse(ring.busbw_Bps.flags.owndata)
        self.assertTrue(numpy.shares_memory(ring.busbw_Bps, column))
        self.assertEqual(ring.size_bytes.tolist(), [65536, 1048576])
        rows = [r for r in self.times.to_dict()["rows"] if r["algorithm"] == "ring"]
        self.assertEqual(ring.busbw_Bps.tolist(), [row["busbw_Bps"] for row in rows])

    def test_columns_that_no_view_can_show_say_so(self):
        with self.assertRaisesRegex(TypeError, "values\\(\\) gives a list"):
            self.times.column("algorithm")
        self.assertEqual(self.times.table().values("algorithm")[0], "ring")

    def test_pandas_has_all_rows_and_columns(self):
        frame = self.times.to_pandas()
        rows = self.times.to_dict()["rows"]
        self.assertEqual(list(frame.columns), list(rows[0]))
        self.assertEqual(len(frame), len(rows))
        for name in ("size_bytes", "time_s", "algorithm", "best"):
            self.assertEqual(frame[name].tolist(), [row[name] for row in rows])
        self.assertTrue(frame["wrong"].isna().all())

    def test_pandas_of_absent_integers_and_booleans(self):
        swept = lockstep.sweep("llama7b-256", vary={"micro_batch": [1, 3]})  # 3 is impossible
        frame = swept.to_pandas()
        self.assertEqual(frame["fits"].tolist()[0], True)
        self.assertTrue(frame["fits"].isna()[1])
        self.assertTrue(pandas.isna(frame["step_time_s"][1]))

    def test_html_needs_nothing_and_is_small(self):
        for result in (self.step, self.times, lockstep.list_models(),
                       lockstep.compare("pipeline-gpipe", "pipeline-1f1b")):  # fmt: skip
            text = result._repr_html_()
            self.assertLess(len(text.encode()), 100_000)
            self.assertNotIn("http://", text.replace("http://www.w3.org", ""))
            parser = Balanced()
            parser.feed(text)
            self.assertEqual(parser.open, [])
        self.assertIn("<svg", self.step._repr_html_())
        self.assertIn("<svg", self.times._repr_html_())
        self.assertEqual(self.times._repr_html_(), self.times._repr_html_())

    def test_names_are_escaped(self):
        path = f"{os.environ['LOCKSTEP_SOURCE_DIR']}/configs/scenarios/pipeline-1f1b.json"
        with open(path) as file:
            scenario = json.load(file)
        scenario["name"] = "</table><script>alert(1)</script>"
        text = lockstep.run(scenario)._repr_html_()
        self.assertNotIn("<script>", text)

    def test_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            for result in (self.step, self.times, lockstep.list_clusters()):
                path = f"{folder}/report.html"
                result.save_report(path)
                with open(path) as file:
                    self.assertTrue(file.read().lower().startswith("<!doctype html>"))
            with self.assertRaises(OSError):
                self.step.save_report(f"{folder}/none/report.html")

    def test_figures(self):
        for kind in self.step.figures:
            svg = self.step.figure(kind, prefix="own") if kind != "links" else "<svg"
            self.assertIn("<svg", svg)

    def test_pickles_keep_the_result(self):
        again = pickle.loads(pickle.dumps(self.step))
        self.assertEqual(again, self.step)
        self.assertEqual(again.to_json(), self.step.to_json())
        # What the text does not have is simulated again.
        self.assertTrue((again.timeline.start_ps(1) == self.step.timeline.start_ps(1)).all())
        self.assertEqual(pickle.loads(pickle.dumps(self.step.breakdown)), self.step.breakdown)

    def test_a_result_is_a_scenario(self):
        self.assertEqual(lockstep.run(self.step).step_time_s, self.step.step_time_s)
        compared = lockstep.compare(self.step, "pipeline-gpipe")
        self.assertTrue(compared.rows)


if __name__ == "__main__":
    unittest.main()
