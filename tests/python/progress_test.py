"""progress= is told how far a job is, in the calling thread, and may end it."""

import threading
import unittest

import lockstep


class Progress(unittest.TestCase):
    def test_parts_are_counted(self):
        events, threads = [], set()

        def note(event):
            events.append(event)
            threads.add(threading.get_ident())

        lockstep.complexity("all_reduce", ranks="2..16", progress=note)
        self.assertEqual(threads, {threading.get_ident()})
        done = [event.done for event in events]
        self.assertEqual(done, sorted(done))
        self.assertEqual(events[0].done, 0)
        self.assertEqual(events[-1].done, events[-1].total)
        self.assertTrue(all(0 <= event.share <= 1 for event in events))

    def test_phases_are_named(self):
        names = []
        lockstep.run("pipeline-1f1b", progress=lambda event: names.append(event.phase))
        for phase in ("laying out the step", "simulating the step", "summarizing the step"):
            self.assertIn(phase, names)

    def test_searches_and_sweeps(self):
        for call in (
            lambda note: lockstep.sweep("llama7b-256", vary={"micro_batch": [1, 2]}, progress=note),
            lambda note: lockstep.plan("llama7b-256", fix={"overlap": "none"}, progress=note),
        ):
            events = []
            call(events.append)
            self.assertGreater(events[-1].total, 0)

    def test_what_it_raises_ends_the_run(self):
        class Enough(Exception):
            pass

        calls = []

        def enough(event):
            calls.append(event)
            raise Enough(event.phase)

        with self.assertRaises(Enough):
            lockstep.run("llama7b-256", progress=enough)
        self.assertEqual(len(calls), 1)
        self.assertTrue(lockstep.run("pipeline-1f1b").fits)

    def test_it_changes_no_result(self):
        watched = lockstep.collective(
            "all_reduce", cluster="star", ranks=8, algorithm="all", progress=lambda event: None
        )
        self.assertEqual(
            watched, lockstep.collective("all_reduce", cluster="star", ranks=8, algorithm="all")
        )


if __name__ == "__main__":
    unittest.main()
