#include "strategies/interop/chakra/chakra.hpp"

#include <doctest/doctest.h>

#include <bit>

#include "tests/strategies/interop/chakra/chakra_encoder.hpp"
#include "tests/strategies/interop/text/corpus.hpp"
#include "tests/strategies/interop/text/refused.hpp"
#include "tests/strategies/interop/text/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

using Lines = std::vector<std::string>;

ChakraRank parse(const std::vector<std::string>& nodes, int ranks = 8) {
  return parse_chakra_et(trace_bytes(nodes), "f", ranks);
}

Lines problems_of(const std::string& bytes) {
  return refused([&bytes] { return parse_chakra_et(bytes, "f", 8); });
}

Lines problems_in(const std::vector<std::string>& nodes) {
  return problems_of(trace_bytes(nodes));
}

Lines problems_at(const std::string& path) {
  return refused([&path] { return read_chakra(path); });
}

/// What a problem says, whatever folder it is in.
Lines without(const std::string& folder, Lines lines) {
  for (std::string& line : lines)
    if (line.rfind(folder, 0) == 0) line = line.substr(folder.size());
  return lines;
}

}  // namespace

TEST_CASE("every kind of node is read") {
  const ChakraRank rank =
      parse({node_bytes(0, kMetadata), compute_node(1, 7, {0}), node_bytes(2, kLoad, {}, "", 3),
             node_bytes(3, kStore, {1, 2}), send_node(4, 5, 1024, {3}),
             receive_node(9, 6, 2048, {4}), collective_node(10, 2, 4096, "tensor", {9})});
  REQUIRE(rank.nodes.size() == 7);
  CHECK(rank.file == "f");
  CHECK(rank.nodes[0].kind == ChakraNode::Kind::metadata);
  CHECK(rank.nodes[1].kind == ChakraNode::Kind::compute);
  CHECK(rank.nodes[1].duration == 7_us);
  CHECK(rank.nodes[1].name == "n1");
  CHECK(rank.nodes[2].kind == ChakraNode::Kind::load);
  CHECK(rank.nodes[3].kind == ChakraNode::Kind::store);
  CHECK(rank.nodes[3].after == std::vector<std::uint32_t>{1, 2});
  CHECK(rank.nodes[4].kind == ChakraNode::Kind::send);
  CHECK(rank.nodes[4].peer == 5);
  CHECK(rank.nodes[4].size == 1024_B);
  CHECK(rank.nodes[5].kind == ChakraNode::Kind::receive);
  CHECK(rank.nodes[5].peer == 6);
  CHECK(rank.nodes[5].after == std::vector<std::uint32_t>{4});
  CHECK(rank.nodes[6].kind == ChakraNode::Kind::collective);
  CHECK(rank.nodes[6].id == 10);
  CHECK(rank.nodes[6].collective == Collective::all_gather);
  CHECK(rank.nodes[6].group == "tensor");
  CHECK(rank.nodes[6].after == std::vector<std::uint32_t>{5});
}

TEST_CASE("a number is read from whatever type it is written as") {
  const auto size_of = [](const std::string& size) {
    return parse({node_bytes(0, kCollective, {}, attribute("comm_type", 0) + size)}).nodes[0].size;
  };
  for (const unsigned type : {kInt32, kInt64, kUint32, kUint64, kBool})
    CHECK(size_of(attribute("comm_size", 1, type)) == 1_B);
  CHECK(size_of(attribute("comm_size", 14, kSint64)) == 7_B);  // zigzag: 2n
  const auto eight = [](const std::string& value) {
    return bytes_field(10, bytes_field(1, "comm_size") + value);
  };
  CHECK(size_of(eight(fixed64_field(kFixed64, 99))) == 99_B);
  CHECK(size_of(eight(fixed64_field(kDouble, std::bit_cast<std::uint64_t>(65536.0)))) == 65536_B);
}

TEST_CASE("dependencies are of both kinds, packed or one by one, backward or forward") {
  const std::string node =
      node_bytes(1, kCompute) + varint_field(4, 2) + varint_field(5, 0) + bytes_field(5, varint(3));
  const ChakraRank rank =
      parse({node_bytes(0, kCompute), node, compute_node(2, 1), compute_node(3, 1)});
  CHECK(rank.nodes[1].after == std::vector<std::uint32_t>{2, 0, 3});
}

TEST_CASE("metadata may be missing, and fields that nobody knows are passed over") {
  const std::string node = compute_node(0, 5) + bytes_field(99, "new") + varint_field(77, 1);
  CHECK(parse_chakra_et(framed(node), "f", 1).nodes.size() == 1);
  CHECK(parse_chakra_et(framed(bytes_field(1, "1") + bytes_field(2, "?")), "f", 1).nodes.empty());
}

TEST_CASE("bytes that are no trace are reported by their place") {
  const std::string good = trace_bytes({compute_node(0, 5), compute_node(1, 5)});
  CHECK(problems_of("") == Lines{"f: the file is empty"});
  CHECK(problems_of("hello, world") ==
        Lines{"f: byte 0: a message of 104 bytes begins, but only 11 are left: the file is cut off "
              "or no Chakra trace"});
  // With their lengths the metadata take 8 bytes, node 0 takes 25 and node 1, whose id is
  // written, 27.
  REQUIRE(good.size() == 8 + 25 + 27);
  CHECK(problems_of(good.substr(0, good.size() - 1)) ==
        Lines{"f: byte 33: a message of 26 bytes begins, but only 25 are left: the file is cut off "
              "or no Chakra trace"});
  CHECK(problems_of(good + "\x85") ==
        Lines{"f: byte 60: the length of a message is cut off or malformed"});
  CHECK(problems_of(good + std::string(11, '\xff')) ==
        Lines{"f: byte 60: the length of a message is cut off or malformed"});
  CHECK(problems_of(good + std::string("\x02\x0f\x0f")) ==
        Lines{"f: byte 60: the message of 2 bytes here is not a Chakra node"});
}

TEST_CASE("every cut of a trace is refused or a shorter trace") {
  const std::string good =
      trace_bytes({compute_node(0, 5), send_node(1, 5, 8), compute_node(2, 5)});
  std::size_t whole = 0;
  for (std::size_t length = 1; length < good.size(); ++length) {
    try {
      whole += parse_chakra_et(good.substr(0, length), "f", 8).nodes.empty() ? 0 : 1;
    } catch (const ConfigError&) {
    }
  }
  CHECK(whole == 2);  // behind the first node, and behind the second
}

TEST_CASE("what nodes have wrong is reported by node, all of it") {
  CHECK(problems_in({node_bytes(0, 0), node_bytes(1, 8), compute_node(2, 1, {5}),
                     compute_node(2, 1), send_node(3, 8, 1), receive_node(4, UINT64_MAX, 1),
                     node_bytes(6, kSend), collective_node(7, 10, 4),
                     collective_node(8, 0, 1ULL << 63U), compute_node(9, UINT64_MAX),
                     node_bytes(10, kCollective, {},
                                attribute("comm_type", 0) + text_attribute("comm_size", "4"))}) ==
        Lines{"f: node 2: another node has this id already",
              "f: node 0: expected a type of node from 1 to 7, got 0",
              "f: node 1: expected a type of node from 1 to 7, got 8",
              "f: node 2: it depends on node 5, which there is not",
              "f: node 3: comm_dst: expected an integer from 0 to 7, got 8",
              "f: node 4: comm_src: expected an integer from 0 to 7, got -1",
              "f: node 6: comm_size is missing", "f: node 6: comm_dst is missing",
              "f: node 7: comm_type: expected an integer from 0 to 9, got 10",
              "f: node 8: comm_size: expected an integer from 0 to 9223372036854775807, got "
              "-9223372036854775808",
              "f: node 9: its duration is beyond 106 days",
              "f: node 10: comm_size: expected an integer from 0 to 9223372036854775807, got "
              "\"4\""});
}

TEST_CASE("a collective over some dimensions of a machine that is not known is refused") {
  const auto with = [](const std::string& involved) {
    return node_bytes(0, kCollective, {},
                      attribute("comm_type", 0) + attribute("comm_size", 4) +
                          bytes_field(10, bytes_field(1, "involved_dim") +
                                              bytes_field(kBoolList, bytes_field(1, involved))));
  };
  CHECK_NOTHROW(parse({with("\x01\x01")}));
  CHECK(
      problems_in({with(std::string("\x01\x00", 2))}) ==
      Lines{"f: node 0: involved_dim leaves out a dimension; which ranks that means is not in the "
            "trace (give the group a pg_name)"});
}

TEST_CASE("a barrier has no size, and its message no tag unless it wants one") {
  CHECK(parse({node_bytes(0, kCollective, {}, attribute("comm_type", 9))}).nodes[0].collective ==
        Collective::barrier);
  CHECK(parse({receive_node(0, 1, 8)}).nodes[0].tag == 0);
}

TEST_CASE("a circle of dependencies of nodes is named") {
  CHECK(problems_in({compute_node(0, 1), compute_node(4, 1, {7, 0}), compute_node(5, 1, {4}),
                     compute_node(7, 1, {5})}) ==
        Lines{"f: node 4: it can never begin: it depends on node 7, that on node 5, that on it "
              "again"});
  CHECK(problems_in({compute_node(3, 1, {3})}) ==
        Lines{"f: node 3: it can never begin: it depends on itself"});
  std::vector<std::string> many{compute_node(0, 1, {19})};
  for (std::uint64_t i = 1; i < 20; ++i) many.push_back(compute_node(i, 1, {i - 1}));
  CHECK(problems_in(many)[0].find("that on node 12, that on 11 more, the last on it again") !=
        std::string::npos);
}

TEST_CASE("the JSON form is read as the protobuf form is") {
  const ChakraRank rank = parse_chakra_json(
      R"({"workload_graph": [
        {"Id": 0, "Name": "a", "NodeType": 4, "runtime": 2.5, "is_cpu_op": true, "num_ops": 1},
        {"Id": 1, "Name": "b", "NodeType": 5, "data_deps": [0], "comm_dst": 3, "comm_size": 64,
         "comm_tag": 2, "comm_type": 5},
        {"Id": 2, "NodeType": 7, "ctrlDeps": [1], "data_deps": [0], "comm_type": 7,
         "comm_size": 128, "pg_name": "g", "involved_dim": [true, 1]}]})",
      "f", 4);
  REQUIRE(rank.nodes.size() == 3);
  CHECK(rank.nodes[0].duration == 2500_ns);
  CHECK(rank.nodes[0].on_cpu);
  CHECK(rank.nodes[1].peer == 3);
  CHECK(rank.nodes[1].tag == 2);
  CHECK(rank.nodes[2].after == std::vector<std::uint32_t>{1, 0});
  CHECK(rank.nodes[2].collective == Collective::reduce_scatter);
  CHECK(rank.nodes[2].group == "g");
}

TEST_CASE("what the JSON form has wrong is reported with its place") {
  const auto problems = [](const std::string& text) {
    return refused([&text] { return parse_chakra_json(text, "f", 4); });
  };
  CHECK(problems("{\"workload_graph\": [{\"Id\": -1, \"NodeType\": 9}]}") ==
        Lines{"f:1:28: /workload_graph/0/Id: expected an integer of at least 0, got the number -1",
              "f:1:44: /workload_graph/0/NodeType: expected an integer from 1 to 7, got the number "
              "9"});
  CHECK(problems("{\"workload_graph\": [\n {\"Id\": 3, \"NodeType\": 5, \"comm_size\": \"1\"}]}") ==
        Lines{"f:2:2: node 3: comm_size: expected an integer from 0 to 9223372036854775807, got "
              "\"1\"",
              "f:2:2: node 3: comm_dst is missing"});
  CHECK(problems("{}") == Lines{"f:1:1: the key \"workload_graph\" is missing"});
  CHECK(problems("") == Lines{"f:1:1: the file is empty"});
}

TEST_CASE("a set is found by its prefix, one of its files or its folder") {
  const TemporaryFolder folder;
  for (int rank = 0; rank < 12; ++rank)
    folder.write("a." + std::to_string(rank) + ".et", trace_bytes({compute_node(0, 1)}));
  folder.write("notes.txt", "");
  folder.write("a.x.et", "");
  folder.write("a.01.et", "");
  for (const std::string path : {"", "/", "/a", "/a.3.et"})
    CHECK(read_chakra(folder.path() + path).ranks.size() == 12);
  CHECK(without(folder.path(), problems_at(folder.path() + "/b")) ==
        Lines{"/b: no such file or directory, and no traces b.0.et"});
  CHECK(without(folder.path(), problems_at(folder.path() + "/a.12.et")) ==
        Lines{"/a.12.et: no such file or directory, and no traces a.12.et.0.et"});
  CHECK(without(folder.path(), problems_at(folder.path() + "/notes.txt")) ==
        Lines{"/notes.txt: the name of a trace ends in its rank, as in trace.0.et"});
}

TEST_CASE("a folder with several sets or none is refused") {
  const TemporaryFolder folder;
  CHECK(without(folder.path(), problems_at(folder.path())) ==
        Lines{": no traces in this directory; expected files such as trace.0.et, trace.1.et"});
  folder.write("a.0.et", trace_bytes({compute_node(0, 1)}));
  folder.write("a.0.json", R"({"workload_graph": []})");
  folder.write("b.0.et", "");
  CHECK(without(folder.path(), problems_at(folder.path())) ==
        Lines{": 3 sets of traces in this directory, such as those of a.0.et, a.0.json, b.0.et; "
              "name one by what stands before its ranks"});
  CHECK(read_chakra(folder.path() + "/a").ranks[0].nodes.size() == 1);
  CHECK(read_chakra(folder.path() + "/a.0.json").ranks[0].nodes.empty());
}

TEST_CASE("a rank without a file is named") {
  const TemporaryFolder folder;
  for (const char* name : {"t.0.et", "t.1.et", "t.3.et"})
    folder.write(name, trace_bytes({compute_node(0, 1)}));
  CHECK(without(folder.path(), problems_at(folder.path())) ==
        Lines{"/t.2.et: no such file, but there is one for rank 3"});
}

TEST_CASE("all files' problems are reported together") {
  const TemporaryFolder folder;
  folder.write("t.0.et", trace_bytes({send_node(0, 2, 1)}));
  folder.write("t.1.et", "");
  CHECK(without(folder.path(), problems_at(folder.path())) ==
        Lines{"/t.0.et: node 0: comm_dst: expected an integer from 0 to 1, got 2",
              "/t.1.et: the file is empty"});
}

TEST_CASE("ranks that do not agree on their collectives are reported") {
  const TemporaryFolder folder;
  folder.write("t.0.et", trace_bytes({collective_node(0, 0, 8), collective_node(1, 2, 8, "g")}));
  folder.write("t.1.et", trace_bytes({collective_node(0, 0, 9), collective_node(1, 7, 8, "g")}));
  folder.write("t.2.et", trace_bytes({collective_node(0, 0, 8)}));
  CHECK(without(folder.path(), problems_at(folder.path())) ==
        Lines{"/t.1.et: node 0: all_reduce of 9 bytes, where rank 0 does all_reduce of 8 bytes "
              "(node 0)",
              "/t.1.et: node 1: reduce_scatter of 8 bytes, where rank 0 does all_gather of 8 bytes "
              "(node 1)"});
  folder.write("t.1.et",
               trace_bytes({collective_node(0, 2, 8, "g"), collective_node(1, 2, 8, "g")}));
  CHECK(without(folder.path(), problems_at(folder.path())) ==
        Lines{"/t.1.et: rank 1 has 0 collectives without a pg_name, but rank 0 has 1",
              "/t.1.et: rank 1 has 2 collectives of the group \"g\", but rank 0 has 1"});
}

TEST_CASE("messages that can only meet in different sizes are reported") {
  const TemporaryFolder folder;
  folder.write("t.0.et", trace_bytes({send_node(0, 1, 8), send_node(1, 1, 16)}));
  folder.write("t.1.et", trace_bytes({receive_node(5, 0, 16), receive_node(6, 0, 4)}));
  CHECK(without(folder.path(), problems_at(folder.path())) ==
        Lines{"/t.0.et: node 0: sends 8 bytes to rank 1 on tag 0, which receives 4 (node 6)"});
}

TEST_CASE("traces by others are read") {
  const auto one = corpus("chakra/all_reduce_4npus_1MB");
  const auto ring = corpus("chakra/custom_ring_allreduce_8npus_1MB");
  if (!one || !ring) return;
  const ChakraTrace single = read_chakra(*one);
  REQUIRE(single.ranks.size() == 4);
  for (const ChakraRank& rank : single.ranks) {
    REQUIRE(rank.nodes.size() == 1);
    CHECK(rank.nodes[0].collective == Collective::all_reduce);
    CHECK(rank.nodes[0].size == 1_MiB);
  }
  const ChakraTrace custom = read_chakra(*ring + "/custom_allreduce");
  REQUIRE(custom.ranks.size() == 8);
  // 14 sends, 14 receives and a reduction behind each of the first 7.
  for (const ChakraRank& rank : custom.ranks) CHECK(rank.nodes.size() == 14 + 14 + 7);
}
