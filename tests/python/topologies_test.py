"""Own topologies: of edges and of networkx graphs."""

import unittest

import lockstep

try:
    import networkx
except ImportError:
    networkx = None

LINK = {"bandwidth": "50 GB/s", "latency": "1 us"}


class Topologies(unittest.TestCase):
    def test_two_gpus_and_a_cable(self):
        pair = lockstep.cluster_from_edges([(0, 1, LINK)], device="h100-sxm5-80gb")
        (row,) = lockstep.collective("send_recv", cluster=pair, algorithm="shift", size="50MB").rows
        # 50 MB at 50 GB/s take 1 ms, after 1 us of latency.
        self.assertAlmostEqual(row.time_s, 1.001e-3, places=12)

    def test_units_in_names_are_those_of_texts(self):
        named = lockstep.cluster_from_edges(
            [(0, 1, {"bandwidth_Gbps": 400, "latency_ns": 1000})], device="h100-sxm5-80gb"
        )
        texts = lockstep.cluster_from_edges([(0, 1, LINK)], device="h100-sxm5-80gb")
        of = [
            lockstep.collective("send_recv", cluster=each, algorithm="shift", size="1M").rows
            for each in (named, texts)
        ]
        self.assertEqual(of[0], of[1])

    def test_switches_by_name(self):
        star = lockstep.cluster_from_edges(
            [(f"gpu{i}", "leaf0") for i in range(4)], device="h100-sxm5-80gb", **LINK
        )
        kinds = {each["id"]: each["kind"] for each in star["graph"]["vertices"]}
        self.assertEqual((kinds["gpu3"], kinds["leaf0"]), ("gpu", "leaf"))
        self.assertEqual(lockstep.topology(star).rows[0].ranks, 4)

    @unittest.skipIf(networkx is None, "networkx is not installed")
    def test_graphs(self):
        torus = networkx.grid_2d_graph(2, 3, periodic=True)
        names = {node: f"gpu{i}" for i, node in enumerate(torus)}
        graph = networkx.relabel_nodes(torus, names)
        networkx.set_edge_attributes(graph, "25 GB/s", "bandwidth")
        cluster = lockstep.cluster_from_graph(graph, device="h100-sxm5-80gb", latency_us=0.5)
        facts = lockstep.topology(cluster).rows[0]
        # Both dimensions have cables around; of 2, both are the same cable.
        self.assertEqual(facts.ranks, 6)
        self.assertEqual(facts.diameter_hops, 2)
        result = lockstep.collective("all_reduce", cluster=cluster, algorithm="all", size="1M")
        self.assertTrue(result.fastest)
        with self.assertRaisesRegex(lockstep.RequestError, "undirected"):
            lockstep.cluster_from_graph(graph.to_directed())

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(lockstep.RequestError, "0 - 1: no bandwidth.*bandwidth_GBps"):
            lockstep.cluster_from_edges([(0, 1)])
        with self.assertRaisesRegex(lockstep.RequestError, "edge 0 - 1: no latency"):
            lockstep.cluster_from_edges([(0, 1, {"bandwidth_GBps": 5})])
        with self.assertRaisesRegex(
            lockstep.RequestError, "edge 0 - 1: bandwidth_GBps: expected a number in GB/s, got 'fast'"
        ):
            lockstep.cluster_from_edges([(0, 1)], bandwidth_GBps="fast", latency_us=1)
        with self.assertRaisesRegex(lockstep.RequestError, "expected edges"):
            lockstep.cluster_from_edges(["01"])
        with self.assertRaises(lockstep.ConfigError) as caught:
            wrong = lockstep.cluster_from_edges([(0, 1, {**LINK, "bandwith": 3})])
            lockstep.topology(wrong)
        self.assertEqual((caught.exception.file, caught.exception.key), ("cluster (dict)", "bandwith"))


if __name__ == "__main__":
    unittest.main()
