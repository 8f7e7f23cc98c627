"""Own algorithms are verified, explained, timed and exported; wrong ones are found out."""

import pickle
import tempfile
import unittest

import lockstep
from lockstep import Copy, receive, send


def ring(rank, ranks):
    """Ring all-reduce, as the shipped one: Patarasuk and Yuan 2009, section 3."""
    to, source = (rank + 1) % ranks, (rank - 1) % ranks
    for step in range(ranks - 1):
        block = (rank - step) % ranks
        yield send(to, block), receive(source, (block - 1) % ranks, reduce=True)
    for step in range(ranks - 1):
        yield send(to, (rank + 1 - step) % ranks), receive(source, (rank - step) % ranks)


def tree(rank, ranks, root=0):
    """Binomial broadcast from rank 0."""
    reach = 1
    while reach < ranks:
        if rank < reach and rank + reach < ranks:
            yield send(rank + reach, 0)
        elif reach <= rank < 2 * reach:
            yield receive(rank - reach, 0)
        reach *= 2


def exchange(rank, ranks):
    """All-to-all over the output buffer: part d of rank s is part s of rank d's output."""
    yield Copy(rank, rank, to_buffer="output")
    for distance in range(1, ranks):
        to, source = (rank + distance) % ranks, (rank - distance) % ranks
        yield send(to, to), receive(source, source, buffer="output")


class Algorithms(unittest.TestCase):
    def test_an_own_ring_takes_as_long_as_the_shipped_one(self):
        for ranks in (2, 3, 8):
            own = lockstep.schedule(ring, "all_reduce", ranks)
            self.assertTrue(own.verify().ok)
            rows = own.collective(algorithm="ring", size=["8", "1M", "64M"]).rows
            times = {(row.algorithm, row.size_bytes): row.time_s for row in rows}
            for size in (8, 2**20, 2**26):
                self.assertEqual(times["schedule:ring", size], times["ring", size])

    def test_it_is_explained(self):
        explained = lockstep.schedule(ring, "all_reduce", 4).explain(size="64M")
        shipped = lockstep.explain("all_reduce", algorithm="ring", ranks=4, size="64M")
        # 2 * (n - 1) rounds of n messages.
        self.assertEqual(explained.rounds, 6)
        self.assertEqual(len(explained.rows), 24)
        self.assertEqual(explained.cost.simulated_s, shipped.cost.simulated_s)
        self.assertEqual(explained.cost.sent_per_rank_bytes, shipped.cost.sent_per_rank_bytes)

    def test_it_is_exported_and_read_again(self):
        own = lockstep.schedule(ring, "all_reduce", 4, name="mine")
        self.assertIn("<algo ", own.to_msccl())
        self.assertIn('name="mine"', own.to_msccl())
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/mine.xml"
            own.save(path)
            of_file = lockstep.collective(schedule=path, cluster="star", size="1M")
            self.assertTrue(lockstep.verify(schedule=path).ok)
        self.assertEqual(of_file.rows[0].time_s, own.collective(size="1M").rows[0].time_s)

    def test_on_a_cluster(self):
        own = lockstep.schedule(ring, "all_reduce", 16)
        rows = own.collective(cluster="dgx-h100", nodes=2, algorithm="ring", size="64M").rows
        self.assertEqual([row.algorithm for row in rows], ["ring", "schedule:ring"])
        with self.assertRaisesRegex(lockstep.RequestError, "is for 16 ranks, the cluster has 8"):
            own.collective(cluster="dgx-h100", nodes=1)

    def test_other_collectives(self):
        broadcast = lockstep.schedule(tree, "broadcast", 5, blocks=1)
        self.assertTrue(broadcast.verify().ok)
        self.assertEqual(broadcast.explain().rounds, 3)  # ceil(log2(5))
        self.assertTrue(lockstep.schedule(exchange, "all_to_all", 4, result="output").verify().ok)

    def test_parameters(self):
        def shifted(rank, ranks, by):
            yield send((rank + by) % ranks, rank), receive((rank - by) % ranks, (rank - by) % ranks)
            if ranks == 3:
                yield send((rank + 2 * by) % ranks, rank), receive(
                    (rank - 2 * by) % ranks, (rank - 2 * by) % ranks
                )

        self.assertTrue(lockstep.schedule(shifted, "all_gather", 3, by=1).verify().ok)

    def test_a_wrong_one_is_found_out(self):
        def forgets(rank, ranks):
            steps = list(ring(rank, ranks))
            yield from steps[:-1]

        with self.assertRaises(lockstep.NegativeResult) as caught:
            lockstep.schedule(forgets, "all_reduce", 4).verify()
        self.assertFalse(caught.exception.result.ok)
        self.assertIn("forgets", str(caught.exception))

    def test_a_deadlock_is_reported(self):
        def waits(rank, ranks):
            yield receive(1 - rank, 1 - rank)
            yield send(1 - rank, rank)

        with self.assertRaisesRegex(lockstep.LockstepError, "deadlock|wait"):
            lockstep.schedule(waits, "all_gather", 2).verify()

    def test_mistakes_are_named_by_rank_and_step(self):
        cases = (
            (lambda rank, ranks: [send(9, 0)], "rank 0, step 0: expected a peer from 0 to 3"),
            (lambda rank, ranks: [send((rank + 1) % 4, 4)], "step 0: block 4 is not one of 4"),
            (lambda rank, ranks: ["x"], "rank 0, step 0: expected send"),
            (lambda rank, ranks: [send((rank + 1) % 4, 0)], "rank 1: 1 sends, 0 receives"),
            (lambda rank, ranks: [send((rank + 1) % 4, 0, 2), receive((rank - 1) % 4, 0)],
             "2 blocks are sent in step 0, 1 are received in step 1"),
            (lambda rank, ranks: [Copy(0, 1, buffer="dta")], "expected a buffer data"),
        )  # fmt: skip
        for function, said in cases:
            with self.subTest(said=said):
                with self.assertRaisesRegex(lockstep.RequestError, said):
                    lockstep.schedule(function, "all_reduce", 4)
        with self.assertRaisesRegex(lockstep.RequestError, 'did you mean "all_reduce"'):
            lockstep.schedule(ring, "all_redcue", 4)
        with self.assertRaisesRegex(lockstep.RequestError, "root"):
            lockstep.schedule(tree, "broadcast", 4, blocks=1, root=7)

    def test_schedules_are_values(self):
        own = lockstep.schedule(ring, "all_reduce", 4)
        self.assertEqual(pickle.loads(pickle.dumps(own)), own)
        with self.assertRaises(AttributeError):
            own.ranks = 5


class Mistakes(unittest.TestCase):
    """Of functions, named by rank and step."""

    def test_what_is_no_step(self):
        def number(rank, ranks):
            yield lockstep.send(1 - rank, 0), lockstep.receive(1 - rank, 0)
            yield 3

        with self.assertRaisesRegex(lockstep.RequestError, "^rank 0, step 1: .*, got 3$"):
            lockstep.schedule(number, "all_reduce", ranks=2)
        with self.assertRaisesRegex(lockstep.RequestError, "^rank 0: .*yields steps.*, got 3$"):
            lockstep.schedule(lambda rank, ranks: 3, "all_reduce", ranks=2)

    def test_transfers_without_the_other_end(self):
        def unheard(rank, ranks):
            if rank == 1:
                yield lockstep.send(0, 0)
                yield lockstep.send(0, 1)
            else:
                yield lockstep.receive(1, 0)

        def unsent(rank, ranks):
            if rank == 1:
                yield lockstep.receive(0, 0)

        with self.assertRaisesRegex(lockstep.RequestError, "^rank 1, step 1: no receive .*rank 0"):
            lockstep.schedule(unheard, "all_reduce", ranks=2)
        with self.assertRaisesRegex(lockstep.RequestError, "^rank 1, step 0: no send .*rank 0"):
            lockstep.schedule(unsent, "all_reduce", ranks=2)

    def test_exceptions_of_the_function_have_a_note(self):
        def raises(rank, ranks):
            yield lockstep.send(1 - rank, 0), lockstep.receive(1 - rank, 0)
            if rank == 1:
                raise ValueError("own")

        with self.assertRaisesRegex(ValueError, "^own$") as caught:
            lockstep.schedule(raises, "all_reduce", ranks=2)
        if hasattr(caught.exception, "add_note"):  # since Python 3.11
            self.assertEqual(
                caught.exception.__notes__, ["in rank 1, step 1 of the schedule"]
            )


if __name__ == "__main__":
    unittest.main()
