"""Calls from several threads and processes have the results of one; the GIL is free meanwhile."""

import concurrent.futures
import multiprocessing
import threading
import unittest

import lockstep

CASES = [("pipeline-1f1b", {}), ("pipeline-gpipe", {}), ("pipeline-1f1b", {"parallel.pp": 2})] * 4


def simulated(case):
    name, changes = case
    return lockstep.run(name, set=changes)


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = [simulated(case) for case in CASES]

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(simulated, CASES)), self.expected)

    def test_processes(self):
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                self.assertEqual(list(pool.map(simulated, CASES)), self.expected)

    def test_the_gil_is_free_while_it_simulates(self):
        # The other thread needs the GIL for each of its turns; it gets all of them while a call
        # goes on, which notes its end last.
        order = []

        def count():
            for turn in range(100):
                order.append(turn)
            order.append("counted")

        begun = threading.Event()

        def wait_and_count():
            begun.wait()
            count()

        other = threading.Thread(target=wait_and_count)
        other.start()
        lockstep.verify("all_reduce", ranks="2..24", progress=lambda event: begun.set())
        order.append("simulated")
        other.join()
        self.assertLess(order.index("counted"), order.index("simulated"))

    def test_documents_of_threads_do_not_meet(self):
        def named(number):
            scenario = lockstep.Scenario(
                name=f"number {number}", cluster="dgx-a100", model="gpt3-6.7b", ranks=4,
                parallel={"pp": 4, "micro_batch": 1, "global_batch": 4 * number},
            )  # fmt: skip
            return lockstep.run(scenario).name

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            names = list(pool.map(named, range(1, 9)))
        self.assertEqual(names, [f"number {number}" for number in range(1, 9)])

    def test_errors_stay_in_their_thread(self):
        def wrong(_):
            try:
                lockstep.run("nope")
            except lockstep.RequestError as error:
                return str(error)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(len(set(pool.map(wrong, range(16)))), 1)


if __name__ == "__main__":
    unittest.main()
