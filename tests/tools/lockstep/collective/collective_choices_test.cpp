#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "tests/tools/run_command.hpp"

/// Several collectives and algorithms in one call, crossovers, collectives at once, schedules out
/// and in again, all as a user asks for them. star.json: 1 us per link, so 2 us a hop, and 20 ps a
/// byte.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

std::int64_t picoseconds(const Json& seconds) {
  return std::llround(seconds.get<double>() * 1e12);
}

Json only_row(const std::string& command) {
  const Json rows = rows_of(command);
  REQUIRE(rows.size() == 1);
  return rows[0];
}

}  // namespace

TEST_CASE("a choice that is named twice is made once") {
  const Json rows = rows_of(
      "lockstep collective all_gather --cluster dgx-h100 --nodes 1 --size 1M --algorithm "
      "auto:by=nccl,auto:by=nccl,windows=symmetric,auto:by=nccl,auto:by=nccl,windows=symmetric");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["algorithm"] == "auto:by=nccl");
  CHECK(rows[1]["algorithm"] == "auto:by=nccl,windows=symmetric");
}

TEST_CASE("windows between nodes are reported as not modeled") {
  const auto output = [](const std::string& algorithm, const std::string& nodes) {
    return output_of("lockstep collective all_gather --cluster dgx-h100 --size 1M --nodes " +
                     nodes + " --algorithm " + algorithm);
  };
  const std::string note = "auto:by=nccl,windows=symmetric: symmetric kernels over several nodes";
  CHECK(contains(output("auto:by=nccl,windows=symmetric", "2"), note));
  CHECK_FALSE(contains(output("auto:by=nccl,windows=symmetric", "1"), note));
  CHECK_FALSE(contains(output("auto:by=nccl", "2"), "symmetric kernels"));
}

TEST_CASE("a named nvls is reported to be at link rates") {
  const std::string command =
      "lockstep collective all_reduce --cluster dgx-b200 --nodes 1 --size 64M --algorithm ";
  const std::string note = "nvls: at link rates";
  CHECK(contains(output_of(command + "nvls,auto:by=nccl"), note));
  CHECK_FALSE(contains(output_of(command + "ring,auto:by=nccl"), note));
}

TEST_CASE("the sizes at which the fastest changes are found to the element") {
  // 16 ranks, c elements, M = 4c bytes and, cut in 16, M' = 64 ceil(c/16). one_shot
  // 2 us + 15 M 20 ps, recursive doubling 4 (2 us + M 20 ps), halving-doubling
  // 8*2 us + 30/16 M' 20 ps. The first leads up to M = 6 us / 220 ps = 27272.7, so up to 6818
  // elements. At 47057 to 47072 elements M' is 16 * 11768 and the third takes 23.0608 us, which the
  // second does at 8 us + 80 ps M: from M = 188260 on, 47065 elements.
  const Json rows = rows_of(
      "lockstep collective all_reduce --crossover --cluster star --ranks 16 --algorithm "
      "ring,halving_doubling,one_shot,recursive_doubling -b 8 -e 64M -f 8");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["count"] == 6819);
  CHECK(rows[0]["from"] == "one_shot");
  CHECK(rows[0]["to"] == "recursive_doubling");
  CHECK(picoseconds(rows[0]["to_s"]) == 4 * (2'000'000 + 4 * 6819 * 20));
  CHECK(rows[1]["count"] == 47'065);
  CHECK(rows[1]["to"] == "halving_doubling");
}

TEST_CASE("whoever leads between two sizes that were looked at is not passed over") {
  // As above: recursive doubling leads from 6819 to 47064 elements only, between the two
  // sizes that a factor of 1 Mi looks at first.
  const Json rows = rows_of(
      "lockstep collective all_reduce --crossover --cluster star --ranks 16 --algorithm "
      "ring,halving_doubling,one_shot,recursive_doubling -b 8 -e 64M -f 1048576");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["to"] == "recursive_doubling");
  CHECK(rows[1]["count"] == 47'065);
}

TEST_CASE("without sizes, crossovers are looked for from 8 bytes to 1 GiB") {
  const Json rows = rows_of(
      "lockstep collective all_reduce --crossover --cluster star --ranks 16 --algorithm "
      "halving_doubling,recursive_doubling");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["count"] == 47'065);
}

TEST_CASE("the fastest at each size is marked, once a collective") {
  const Json rows = rows_of(
      "lockstep collective all_reduce,broadcast --cluster star --ranks 16 --algorithm "
      "one_shot,halving_doubling,binomial,flat -b 1K -e 1M -f 1024");
  REQUIRE(rows.size() == 8);
  int best = 0;
  for (const Json& row : rows) best += row["best"].get<bool>() ? 1 : 0;
  CHECK(best == 4);
  CHECK(rows[0]["algorithm"] == "one_shot");
  CHECK(rows[0]["best"] == true);   // 1 KiB
  CHECK(rows[1]["best"] == false);  // 1 MiB
  CHECK(rows[4]["collective"] == "broadcast");
}

TEST_CASE("what replays fastest is never slower than an algorithm that was asked for") {
  const Json rows = rows_of(
      "lockstep collective all_reduce --cluster star --ranks 12 --algorithm "
      "auto:by=replay,ring,direct,one_shot,recursive_doubling,halving_doubling -b 8 -e 8M -f 1024");
  REQUIRE(rows.size() == 18);
  // Automatic choices come last.
  for (std::size_t size = 0; size < 3; ++size)
    for (std::size_t algorithm = 0; algorithm < 5; ++algorithm)
      CHECK(rows[15 + size]["time_s"] <= rows[3 * algorithm + size]["time_s"]);
  CHECK(rows[15]["chosen"] == "one_shot");
}

TEST_CASE("NCCL's pick takes what it was measured to take") {
  // NCCL's own model has a floor of 15.0 us for eight GPUs of one node: 6.6 + 14 * 0.6.
  const Json row = only_row(
      "lockstep collective all_reduce --cluster dgx-a100 --nodes 1 --algorithm auto:by=nccl -b 8 "
      "-e 8");
  CHECK(picoseconds(row["nccl_model_s"]) == doctest::Approx(15.0e6).epsilon(0.001));
  CHECK(contains(row["chosen"].get<std::string>(), "ring"));
  CHECK(contains(row["chosen"].get<std::string>(), "ll"));
  // 21.3 to 22.6 us were measured for 512 B to 16 KiB (ai-dynamo/aiconfigurator a100_sxm, NCCL
  // 2.27, at 095f58a5).
  CHECK(picoseconds(row["time_s"]) == doctest::Approx(21.7e6).epsilon(0.06));
}

TEST_CASE("what NCCL is to choose by is read, also where it is not asked") {
  const std::string ring = "lockstep collective all_reduce --cluster star --algorithm ring ";
  for (const auto& [option, problem] : {std::pair{"--nccl 1.1", "no tuning of NCCL \"1.1\""},
                                        {"--nccl-algo rng", "did you mean \"ring\"?"},
                                        {"--nccl-proto l", "--nccl-proto"},
                                        {"--calibration /no/file.json", "no such file"}}) {
    const CommandResult refused = run_command(ring + option);
    CAPTURE(option);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, problem));
  }
}

TEST_CASE("a protocol that shortens hops leaves no link with less than no latency") {
  // LL128 adds less to a hop over the network than to one over PCIe: links of a node that
  // --set-link has at zero stay there, and all network models simulate them.
  const std::string command =
      "lockstep collective reduce_scatter --algorithm direct --cluster dgx-h100 --nodes 2 --size 8 "
      "--protocol ll128 --set-link node0 \"latency=0 us\" --set-link node1 \"latency=0 us\"";
  for (const std::string network : {"fluid", "alpha-beta", "queue"})
    CHECK(only_row(command + " --network " + network)["time_s"].get<double>() > 0);
}

TEST_CASE("a protocol slows links and lengthens hops") {
  const std::string command =
      "lockstep collective send_recv --cluster dgx-h100 --nodes 1 --algorithm shift -b 1G -e 1G";
  const double plain = only_row(command)["time_s"].get<double>();
  const double ll = only_row(command + " --protocol ll")["time_s"].get<double>();
  // LL: 4 of 8 bytes are data, so twice the time; a hop of 0.6 us is nothing beside 2.9 ms.
  CHECK(ll / plain == doctest::Approx(2).epsilon(0.001));
}

TEST_CASE("the root is the root") {
  for (const int root : {0, 3}) {
    const Json row = only_row(
        "lockstep collective broadcast --cluster star --ranks 5 --algorithm flat --check --root " +
        std::to_string(root) + " -b 1M -e 1M");
    CHECK(row["root"] == root);
    CHECK(row["wrong"] == 0);
  }
  CHECK(run_command("lockstep collective broadcast --cluster star --ranks 5 --algorithm flat "
                    "--root 5")
            .status == 2);
}

TEST_CASE(
    "collectives at once share links fairly, and those that share none cost each other nothing") {
  const TemporaryFile file(R"({"collectives": [
    {"collective": "all_reduce", "algorithm": "ring", "size": "64 MiB", "ranks": [0, 1, 2, 3]},
    {"collective": "all_reduce", "size": "64 MiB", "ranks": {"first": 0, "count": 4}},
    {"collective": "all_reduce", "size": "64 MiB", "ranks": {"first": 4, "count": 4},
     "start": "1 ms", "repeat": 2, "name": "beside"}]})");
  const Json rows =
      rows_of("lockstep collective --concurrent " + file.path() + " --cluster star --ranks 8");
  REQUIRE(rows.size() == 3);
  // Six rounds of 2 us and 16 MiB at 20 ps a byte; together at 40.
  const std::int64_t block = std::int64_t{16} << 20U;
  const std::int64_t alone = 6 * (2'000'000 + 20 * block);
  CHECK(picoseconds(rows[0]["alone_s"]) == alone);
  CHECK(picoseconds(rows[0]["together_s"]) == 6 * (2'000'000 + 40 * block));
  CHECK(rows[1]["together_s"] == rows[0]["together_s"]);
  CHECK(rows[2]["name"] == "beside");
  CHECK(picoseconds(rows[2]["alone_s"]) == 2 * alone);
  CHECK(picoseconds(rows[2]["together_s"]) == 2 * alone);
}

TEST_CASE("a file of collectives that is wrong gets every problem with its place") {
  const TemporaryFile file(
      R"({"collectives":[{"collective":"all_reduc","size":64,"ranks":[0,0]}]})");
  const CommandResult result =
      run_command("lockstep collective --cluster star --concurrent " + file.path());
  CHECK(result.status == 2);
  CHECK(contains(result.err,
                 "/collectives/0/collective: no collective named \"all_reduc\"; did you "
                 "mean \"all_reduce\"?"));
  CHECK(contains(result.err, "/collectives/0/ranks/1: rank 0 is listed twice"));
  CHECK(contains(result.err, "3 errors; nothing was run"));
  CHECK(result.out.empty());
}

TEST_CASE("a schedule that is written and read again takes the same time") {
  // The last two choose their number of chunks by the size and the hop, and say so.
  for (const std::string algorithm :
       {"ring", "naive", "direct", "halving_doubling", "binary_tree", "double_binary_tree"}) {
    CAPTURE(algorithm);
    const CommandResult written = run_command(
        "lockstep schedule export all_reduce --ranks 8 --size 1001 --algorithm " + algorithm);
    CHECK(contains(written.err, "chunks are as many as are best for 1001 B on star") ==
          contains(algorithm, "binary_tree"));
    const TemporaryFile file(written.out);
    const Json rows =
        rows_of("lockstep collective all_reduce --cluster star --ranks 8 --check --algorithm " +
                algorithm + " --schedule " + file.path() + " -b 1001 -e 1001 -d int8");
    REQUIRE(rows.size() == 2);
    CHECK(rows[1]["wrong"] == 0);
    CHECK(rows[0]["time_s"] == rows[1]["time_s"]);
    CHECK(rows[0]["rounds"] == rows[1]["rounds"]);
  }
}

TEST_CASE("a schedule that names no collective is timed as the one that is asked for") {
  const std::string xml = run_command("lockstep schedule export all_reduce --ranks 4").out;
  const TemporaryFile file(replaced(xml, "coll=\"allreduce\"", "coll=\"custom\""));
  const TemporaryFile named(xml);
  const auto time = [](const std::string& path) {
    return only_row("lockstep collective all_reduce --check --schedule " + path)["time_s"];
  };
  CHECK(time(file.path()) == time(named.path()));
  const CommandResult result = run_command("lockstep collective --schedule " + file.path());
  CHECK(result.status == 2);
  CHECK(contains(result.err, "name one before it"));
}

TEST_CASE("what a schedule is written for, and what MSCCL would make of it, is reported") {
  const std::string xml =
      run_command("lockstep schedule export all_reduce --ranks 2 --protocol LL").out;
  const TemporaryFile file(replaced(replaced(xml, "hasdep=\"1\"", "hasdep=\"0\""), "nchannels",
                                    "minBytes=\"64\" maxBytes=\"4096\" nchannels"));
  const std::string collective = "lockstep collective --schedule " + file.path();
  const std::string told = output_of(collective);
  CHECK(contains(told, "it is meant for sizes from 64 B to 4 KiB"));
  CHECK(contains(told, "it is written for LL; --protocol ll puts what that costs on the links"));
  CHECK(contains(told, "is waited for but has no hasdep=\"1\""));
  const std::string fitting = output_of(collective + " --protocol ll -b 64 -e 4K -f 64");
  CHECK_FALSE(contains(fitting, "it is meant for"));
  CHECK_FALSE(contains(fitting, "it is written for"));
  CHECK(contains(output_of("lockstep verify collective --schedule " + file.path()),
                 "is waited for but has no hasdep=\"1\""));
  CHECK(run_command("lockstep schedule export all_reduce --ranks 2 --protocol XX").status == 2);
}

TEST_CASE("too few slots are a deadlock, and it is reported") {
  // Both ranks send twice to each other before they receive.
  const std::string rank =
      R"(<tb id="0" send="PEER" recv="PEER" chan="0">)"
      R"(<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>)"
      R"(<step s="1" type="s" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>)"
      R"(<step s="2" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>)"
      R"(<step s="3" type="rrc" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>)"
      R"(</tb></gpu>)";
  const TemporaryFile file(
      R"(<algo name="pair" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1">)"
      R"(<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">)" +
      replaced(replaced(rank, "PEER", "1"), "PEER", "1") +
      R"(<gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">)" +
      replaced(replaced(rank, "PEER", "0"), "PEER", "0") + "</algo>");
  const std::string command = "lockstep collective --cluster star -b 1M -e 1M --check --schedule ";
  CHECK(only_row(command + file.path())["wrong"] == 0);  // LL has eight
  const CommandResult stuck = run_command(command + file.path() + " --slots 1");
  CHECK(stuck.status == 1);
  CHECK(contains(stuck.err, "all 1 slots of the connection are taken"));
}

}  // namespace lockstep
