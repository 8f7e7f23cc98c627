#include <doctest/doctest.h>
#include <fmt/format.h>

#include "strategies/interop/chakra/chakra.hpp"
#include "strategies/interop/chakra/chakra_workload.hpp"
#include "tests/strategies/interop/chakra/chakra_encoder.hpp"
#include "tests/strategies/interop/text/refused.hpp"
#include "tests/strategies/interop/text/temporary_folder.hpp"

/// What a trace has that is not taken as it stands, and that this is said.
using namespace lockstep;
using namespace lockstep::test;

namespace {

using Lines = std::vector<std::string>;
using After = std::vector<std::uint32_t>;

ChakraTrace trace_of(const std::vector<std::vector<std::string>>& ranks) {
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    folder.write("t." + std::to_string(i) + ".et", trace_bytes(ranks[i]));
  return read_chakra(folder.path());
}

/// A computation with ctrl_deps and data_deps.
std::string node_after(std::uint64_t id, const std::vector<std::uint64_t>& control,
                       const std::vector<std::uint64_t>& data) {
  std::string out = compute_node(id, 1, data);
  for (const std::uint64_t dep : control) out += varint_field(4, dep);
  return out;
}

std::string on_cpu(const std::string& node) {
  return node + attribute("is_cpu_op", 1, kBool);
}

}  // namespace

TEST_CASE("ctrl_deps on nodes that are not there are ignored and counted, data_deps are not") {
  const ChakraTrace trace =
      trace_of({{node_after(3, {1, 99}, {}), node_after(4, {3, 1}, {3}), node_after(5, {3}, {4})}});
  CHECK(trace.ranks[0].nodes[0].after == After{});
  CHECK(trace.ranks[0].nodes[1].after == After{0, 0});
  CHECK(trace.ranks[0].nodes[2].after == After{0, 1});
  CHECK(trace.notes ==
        Lines{"3 dependencies (ctrl_deps) on nodes that are not in their file are ignored, as "
              "ASTRA-sim does, which follows data_deps"});
  CHECK(refused([] { return parse_chakra_et(trace_bytes({node_after(3, {1}, {2})}), "f", 1); }) ==
        Lines{"f: node 3: it depends on node 2, which there is not"});
}

TEST_CASE("the JSON form has the same two kinds of dependencies") {
  const ChakraRank rank = parse_chakra_json(
      R"({"workload_graph": [{"Id": 1, "NodeType": 4, "ctrlDeps": [7], "ctrl_deps": [8]},
                             {"Id": 2, "NodeType": 4, "ctrl_deps": [1], "data_deps": [1]}]})",
      "f", 1);
  CHECK(rank.ignored.absent_controls == 2);
  CHECK(rank.nodes[1].after == After{0, 0});
  CHECK(refused([] {
          return parse_chakra_json(
              R"({"workload_graph": [{"Id": 1, "NodeType": 4, "data_deps": [7]}]})", "f", 1);
        }) == Lines{"f:1:21: node 1: it depends on node 7, which there is not"});
}

TEST_CASE("a circle that only ctrl_deps close is cut by leaving these out") {
  // 0 waits for 1 by a control dependency, 1 for 0 by a data dependency; 2 for 1 by both.
  const ChakraTrace trace =
      trace_of({{node_after(0, {1}, {}), node_after(1, {}, {0}), node_after(2, {1}, {1})}});
  CHECK(trace.ranks[0].nodes[0].after == After{});
  CHECK(trace.ranks[0].nodes[1].after == After{0});
  CHECK(trace.ranks[0].nodes[2].after == After{1});
  CHECK(trace.notes == Lines{"2 dependencies (ctrl_deps) are ignored: with them there is a wait "
                             "cycle, with data_deps alone there is none"});
  CHECK(refused([] {
          return parse_chakra_et(trace_bytes({node_after(0, {1}, {1}), node_after(1, {}, {0})}),
                                 "f", 1);
        })[0]
            .find("f: node 0: it can never begin") == 0);
}

TEST_CASE("communication that a CPU records is skipped: the GPU's is the one") {
  // The CPU's records have no comm_type, no size and no peer; they take their 5 us on the CPU.
  const std::vector<std::string> nodes{
      on_cpu(node_bytes(0, kCollective, {}, "", 5)), collective_node(1, 0, 4000, "", {0}),
      on_cpu(node_bytes(2, kSend, {}, "", 5)), on_cpu(node_bytes(3, kReceive, {}, "", 5))};
  const ChakraTrace trace = trace_of({nodes, nodes});
  CHECK(trace.notes == Lines{"6 records of communication on the CPU (is_cpu_op) skipped: no bytes "
                             "move for them, their recorded time is the CPU's"});
  const ChakraNode& record = trace.ranks[0].nodes[0];
  CHECK(record.kind == ChakraNode::Kind::compute);
  CHECK(record.on_cpu);
  CHECK(record.duration == 5_us);
  CHECK(trace.ranks[1].nodes[1].kind == ChakraNode::Kind::collective);
}

TEST_CASE("a set of one file says what communication it drops") {
  const ChakraTrace alone =
      trace_of({{collective_node(0, 0, 1000), collective_node(1, 2, 24, "g"),
                 send_node(2, 3, 500, {0}), receive_node(4, 7, 12), compute_node(5, 1, {2})}});
  CHECK(alone.notes ==
        Lines{"communication was dropped: 2 collectives (1024 bytes) and 2 messages (512 bytes), "
              "since there is the file of one rank alone; put those of the other ranks in addition "
              "to it"});
  CHECK(alone.ranks[0].nodes[2].kind == ChakraNode::Kind::metadata);
  const auto none = [](Collective, std::span<const int>, Bytes) {
    return std::shared_ptr<const Schedule>{};
  };
  const std::vector<EndpointId> members{0};
  const Workload workload = to_workload(alone, members, none);
  CHECK(workload.calls.empty());
  for (const Stream& stream : workload.streams)
    CHECK(stream.operations[0].kind == Activity::Kind::compute);
  CHECK(trace_of({{compute_node(0, 1)}}).notes.empty());
}

TEST_CASE("of several files, groups of one rank are said and absent ranks refused") {
  const ChakraTrace two = trace_of({{collective_node(0, 0, 8, "mine")}, {compute_node(0, 1)}});
  CHECK(two.notes ==
        Lines{"1 collective in groups that one rank alone names (8 bytes) move nothing"});
  CHECK(refused([] { return parse_chakra_et(trace_bytes({send_node(0, 2, 1)}), "f", 2); }) ==
        Lines{"f: node 0: comm_dst: expected an integer from 0 to 1, got 2"});
}

TEST_CASE("sizes that cannot be counted together are still said") {
  const std::uint64_t most = INT64_MAX;
  CHECK(trace_of({{send_node(0, 1, most), send_node(1, 1, most)}})
            .notes[0]
            .find("2 messages (9223372036854775807 bytes)") != std::string::npos);
}

TEST_CASE("a JSON trace may be as large as one in protobuf, and is read node by node") {
  // 9 MiB, more than a configuration may have; the last node's fault is told at its place.
  const std::string name(1000, 'x');
  std::string text = "{\"workload_graph\": [\n";
  int count = 0;
  for (; text.size() < (std::size_t{9} << 20U); ++count)
    text += fmt::format("{{\"Id\": {}, \"Name\": \"{}\", \"NodeType\": 4}},\n", count, name);
  const ChakraRank rank = parse_chakra_json(text + "{\"Id\": 1000000, \"NodeType\": 4}]}", "f", 1);
  REQUIRE(std::ssize(rank.nodes) == count + 1);
  CHECK(rank.nodes[7].id == 7);
  CHECK(refused([&] {
          return parse_chakra_json(text + "{\"Id\": -1, \"NodeType\": 4}]}", "f", 1);
        }) == Lines{fmt::format("f:{}:8: /workload_graph/{}/Id: expected an integer of at least 0, "
                                "got the number -1",
                                count + 2, count)});
}

TEST_CASE("faults of a JSON trace outside its nodes") {
  const auto problems = [](const std::string& text) {
    return refused([&text] { return parse_chakra_json(text, "f", 1); });
  };
  CHECK(problems(R"({"workload_graph": [{"Id": 0, "Id": 1, "NodeType": 4}]})")[0].find(
            "/workload_graph/0/Id: the key \"Id\" was given before") != std::string::npos);
  CHECK(problems(R"({"workload_graph": [{"Id": 0, "NodeType": 4}, {"Id": 0, "Id": 1}]})")[0].find(
            "/workload_graph/1/Id: the key \"Id\" was given before") != std::string::npos);
  CHECK(problems(R"({"workload_graph": {}})")[0].find("expected an array") != std::string::npos);
  CHECK(problems(R"({"workload_graph": [1]})")[0].find("/workload_graph/0") != std::string::npos);
  CHECK(problems("[{\"workload_graph\": []}]").size() == 1);
  CHECK(problems(R"({"workload_graph": [{"Id": 0, "NodeType": 4})").size() == 1);
  // A list of that name elsewhere is another's.
  CHECK(parse_chakra_json(R"({"other": {"workload_graph": [5]}, "workload_graph": []})", "f", 1)
            .nodes.empty());
}
