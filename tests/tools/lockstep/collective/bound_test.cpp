#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/tools/run_command.hpp"

/// Bounds of clusters where it matters which way a link goes, which links limit, and who adds up.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

std::int64_t picoseconds(const Json& seconds) {
  return std::llround(seconds.get<double>() * 1e12);
}

Json row_of(const std::string& options) {
  return rows_of("lockstep collective " + options)[0];
}

/// The largest bound that `explain` has for the same case.
Json largest_of(const std::string& options) {
  const Json bounds = json_of("lockstep explain " + options)["cost"]["bounds"];
  return *std::ranges::max_element(bounds, {},
                                   [](const Json& bound) { return bound["time_s"].get<double>(); });
}

}  // namespace

TEST_CASE("a slow way into the switch does not bound what comes out of it") {
  // Two of four hosts send at 1 % of 50 GB/s. Each of the three others receives 64 MiB from
  // somebody: 3 * 64 MiB over the 101 GB/s of all that comes out of hosts.
  const std::string slow =
      "--cluster star --ranks 4 --set-link \"gpu0 -> leaf0\" bandwidth=1% --set-link \"gpu1 -> "
      "leaf0\" bandwidth=1%";
  const Json row = row_of("broadcast --algorithm flat --size 64M --root 3 " + slow);
  CHECK(row["bound_s"].get<double>() == doctest::Approx(3 * 67'108'864 / 101e9));
  CHECK(row["bound_fraction"].get<double>() < 1);
  // The other way round they do: each of the two sends its own 16 MiB at 500 MB/s.
  const Json gathered = row_of("gather --algorithm direct --size 64M --root 3 " + slow);
  CHECK(picoseconds(gathered["bound_s"]) == (std::int64_t{16} << 20U) * 2000);
  const Json shown = rows_of("lockstep topology show " + slow)[0];
  CHECK(shown["bisection_up_Bps"] == 2 * 0.5e9);
  CHECK(shown["bisection_down_Bps"] == 2 * 50e9);
  CHECK(shown["bisection_Bps"] == 2 * 0.5e9);
}

TEST_CASE("a bisection says which way it goes") {
  CHECK(contains(output_of("lockstep topology show --cluster star"), "bisection, each way"));
  const std::string uneven = output_of(
      "lockstep topology show --cluster star --ranks 2 --set-link \"gpu0 -> leaf0\" bandwidth=1%");
  CHECK(contains(uneven, "bisection, lower to upper half"));
  CHECK(contains(uneven, "bisection, upper to lower half"));
}

TEST_CASE("where only ports limit, links behind them bound nothing") {
  for (const std::string options : {"all_to_all --algorithm direct --cluster pcie-box --size 64M",
                                    "all_to_all --algorithm direct --cluster fat-tree-2to1 "
                                    "--ranks 64 --size 64M"}) {
    CAPTURE(options);
    const Json fluid = row_of(options);
    const Json ports = row_of(options + " --network alpha-beta");
    CHECK(fluid["bound_fraction"].get<double>() <= 1);
    CHECK(ports["bound_fraction"].get<double>() <= 1);
    CHECK(ports["bound_by"] == "ports");
    CHECK(ports["bound_s"].get<double>() <= fluid["bound_s"].get<double>());
  }
}

TEST_CASE("where switches add up, collective and explain bound what each rank sends itself") {
  // 25 hosts: 64 MiB up and 64 MiB down at 20 ps a byte: 1,342 us.
  const std::string sharp =
      "all_reduce --algorithm sharp:chunks=8 --cluster star --ranks 25 --size ";
  const Json row = row_of(sharp + "64M");
  CHECK(picoseconds(row["bound_s"]) == (std::int64_t{64} << 20U) * 20);
  CHECK(row["bound_by"] == "ports");
  CHECK(row["bound_fraction"].get<double>() < 1);
  CHECK(largest_of(sharp + "64M")["time_s"] == row["bound_s"]);
  const std::string nvls = "all_reduce --algorithm nvls --cluster dgx-h100 --nodes 2 --size 64M";
  CHECK(largest_of(nvls)["time_s"] == row_of(nvls)["bound_s"]);
}

TEST_CASE("a node of seven bounds what it has to send, not half of all") {
  // Nodes of 7 and 1 GPUs behind NICs of 1 GB/s: the seven send 7/8 of 64 MiB to the one rank of
  // the other node, and as much comes back: 58,720 us.
  std::string vertices = R"({"id": "sw", "kind": "leaf"})";
  std::string cables;
  const auto cable = [&](const std::string& a, const std::string& b, const std::string& bandwidth,
                         const std::string& kind = "pcie") {
    cables += (cables.empty() ? "" : ", ") + (R"({"between": [")" + a + R"(", ")") + b +
              R"("], "kind": ")" + kind + R"(", "bandwidth": ")" + bandwidth +
              R"(", "latency": "0 ns", "source": "by definition"})";
  };
  for (const int node : {0, 1}) {
    const std::string name = "n" + std::to_string(node);
    const std::string in_node = R"(, "node": )" + std::to_string(node) + "}";
    vertices += R"(, {"id": ")" + name + R"(/cpu", "kind": "cpu")" + in_node;
    vertices += R"(, {"id": ")" + name + R"(/nic", "kind": "nic")" + in_node;
    cable(name + "/cpu", name + "/nic", "100 GB/s");
    cable(name + "/nic", "sw", "1 GB/s", "network");
    for (int gpu = 0; gpu < (node == 0 ? 7 : 1); ++gpu) {
      const std::string id = name + "/gpu" + std::to_string(gpu);
      vertices += R"(, {"id": ")" + id + R"(", "kind": "gpu")" + in_node;
      cable(id, name + "/cpu", "100 GB/s");
    }
  }
  const TemporaryFile file(R"({"name": "seven-one", "device": "host", "graph": {"vertices": [)" +
                           vertices + R"(], "cables": [)" + cables + "]}}");
  const Json row = row_of("all_to_all --algorithm direct --size 64M --cluster " + file.path());
  CHECK(picoseconds(row["bound_s"]) == (std::int64_t{56} << 20U) * 1000);
  CHECK(row["bound_by"] == "nodes");
  CHECK(row["bound_fraction"].get<double>() <= 1);
}

TEST_CASE("what is rounded to picoseconds is no more than all of the time") {
  // Blocks of 48 half floats at 7 GB/s, 13714.3 ps: 14 rounds of 6571 ps are 6 ps short.
  const TemporaryFile file(R"({"name": "sevens", "device": "host", "ranks": 8, "topology":
    {"builder": "ring", "link": {"bandwidth": "7 GB/s", "latency": "0 ns", "source": "a case"}}})");
  const std::string options =
      "all_reduce --algorithm bidirectional_ring --size 737 --cluster " + file.path();
  const Json row = row_of(options + " -d half");
  CHECK(picoseconds(row["bound_s"]) <= picoseconds(row["time_s"]));
  CHECK(row["bound_fraction"].get<double>() <= 1);
  CHECK(row["busiest_link_busy_fraction"].get<double>() <= 1);
  CHECK(largest_of(options)["time_s"].get<double>() <=
        json_of("lockstep explain " + options)["cost"]["simulated_s"].get<double>());
}

}  // namespace lockstep
