#include <doctest/doctest.h>

#include <string>

#include "tests/tools/run_command.hpp"

/// `lockstep collective --against FILE`: what nccl-tests measured beside what is simulated.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kPair = "tests/data/nccl_tests/allreduce-2xA100.txt";

/// Rows as nccl-tests prints them, with no word on what, where and on how many.
std::string bare(const std::string& redop, int root, const std::string& algbw,
                 const std::string& busbw) {
  return "1048576 262144 float " + redop + " " + std::to_string(root) + " 100.0 " + algbw + " " +
         busbw + " 0 100.0 " + algbw + " " + busbw + " 0\n";
}

Json against(const std::string& text, const std::string& options) {
  const TemporaryFile file(text);
  return rows_of("lockstep collective --against " + file.path() + " " + options);
}

}  // namespace

TEST_CASE("measured values are printed next to simulated ones, with ratio and error") {
  const Json out = json_of("lockstep collective --against " + kPair);
  CHECK(out["config"]["cluster"]["name"] == "dgx-a100");  // its GPUs are A100-SXM4
  const Json& rows = out["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["algorithm"] == "auto:by=nccl");
  CHECK(rows[0]["collective"] == "all_reduce");
  CHECK(rows[0]["ranks"] == 2);
  CHECK(rows[2]["size_bytes"] == 16 << 20);
  CHECK(rows[2]["measured_s"] == 100e-6);
  for (const Json& row : rows) {
    const double ratio = row["simulated_s"].get<double>() / row["measured_s"].get<double>();
    CHECK(row["ratio"].get<double>() == doctest::Approx(ratio));
    CHECK(row["error_fraction"].get<double>() == doctest::Approx(ratio - 1));
  }
}

TEST_CASE("a simulated time is that of the same collective without --against") {
  const std::string ring = " --cluster star --algorithm ring";
  const Json rows = rows_of("lockstep collective --against " + kPair + ring);
  const Json alone = rows_of("lockstep collective all_reduce --ranks 2 -b 16M -e 16M" + ring);
  CHECK(rows[2]["simulated_s"] == alone[0]["time_s"]);
}

TEST_CASE("mean and worst error are reported") {
  // Two ranks on the star, ring: 2 rounds of 2 us, and all of the message once at 20 ps a byte:
  // 4.02048 us of 10, 6.62144 us of 16 and 339.54432 us of 100.
  const std::string told =
      output_of("lockstep collective --cluster star --algorithm ring --against " + kPair);
  CHECK(contains(told, "# ring: mean |error| 119.3%, worst +239.5% at 16 MiB (3 rows)"));
}

TEST_CASE("figures tell the collective and the number of ranks where the text does not") {
  const std::string ring = "--cluster star --algorithm ring";
  // 2(n-1)/n = 1.75 for 8 ranks, (n-1)/n = 0.75 for 4.
  const Json all_reduce = against(bare("sum", -1, "88.41", "154.71"), ring);
  CHECK(all_reduce[0]["collective"] == "all_reduce");
  CHECK(all_reduce[0]["ranks"] == 8);
  const Json reduce_scatter = against(bare("sum", -1, "80.00", "60.00"), ring);
  CHECK(reduce_scatter[0]["collective"] == "reduce_scatter");
  CHECK(reduce_scatter[0]["ranks"] == 4);
  const Json broadcast =
      against(bare("none", 0, "80.00", "80.00"), "--cluster star --algorithm flat");
  CHECK(broadcast[0]["collective"] == "broadcast");
}

TEST_CASE("where figures cannot tell, the user is asked") {
  const TemporaryFile file(bare("none", -1, "80.00", "60.00"));
  const std::string command = "lockstep collective --cluster star --against " + file.path();
  const CommandResult result = run_command(command);
  CHECK(result.status == 2);
  CHECK(contains(result.err, "its values are those of all_gather or all_to_all: name one"));
  CHECK(run_command("lockstep collective all_gather --cluster star --against " + file.path())
            .status == 0);
  const CommandResult wrong =
      run_command("lockstep collective all_reduce --cluster star --against " + file.path());
  CHECK(contains(wrong.err, "it measures all_gather or all_to_all, not all_reduce"));
  const CommandResult nowhere =
      run_command("lockstep collective all_gather --against " + file.path());
  CHECK(nowhere.status == 2);
  CHECK(contains(nowhere.err, "names no devices; say which cluster it was measured on"));
}

TEST_CASE("a log of one rank of many, with rows of 0 bytes and lines of others, is compared") {
  // 2(n-1)/n = 1.75: 8 ranks, of which the log names the first alone.
  const std::string log =
      "srun: job 4711 started\n"
      "0: # Rank  0 Pid 1 on node7 device  0 [0x07] X\n"
      "0: 0 0 float sum -1 5.0 0.00 0.00 0 5.0 0.00 0.00 0\n0: " +
      bare("sum", -1, "88.41", "154.71") + "real 0m1.000s\n";
  const TemporaryFile file(log);
  const Json out =
      json_of("lockstep collective --cluster star --algorithm ring --against " + file.path());
  REQUIRE(out["rows"].size() == 1);  // 0 bytes are in no mean
  CHECK(out["rows"][0]["ranks"] == 8);
  CHECK(out["left_out"]["rows_of_0_bytes"] == 1);
  CHECK(out["left_out"]["skipped_lines"] == 1);
  CHECK(out["left_out"]["cut_row"] == false);
  const std::string told =
      output_of("lockstep collective --cluster star --algorithm ring --against " + file.path());
  CHECK(contains(told, "# left out: 1 row of 0 bytes"));
  CHECK(contains(told, "# skipped: 1 line of " + file.path()));
  CHECK(contains(told, "(1 rows)"));
}

TEST_CASE("a cluster of another size than was measured is refused") {
  const CommandResult ranks =
      run_command("lockstep collective --cluster dgx-a100 --nodes 1 --against " + kPair);
  CHECK(ranks.status == 2);
  CHECK(contains(ranks.err, "it has 2 ranks, the cluster 8"));
  const TemporaryFile figures(bare("sum", -1, "88.41", "154.71"));
  const CommandResult told =
      run_command("lockstep collective --cluster star --ranks 4 --against " + figures.path());
  CHECK(contains(told.err, "it has 8 ranks, inferred from busbw over algbw, the cluster 4"));
}

TEST_CASE("of several runs in a file the one that is asked for is taken") {
  const TemporaryFile file("AR:\n" + bare("sum", -1, "80.00", "120.00") + "RS:\n" +
                           bare("sum", -1, "80.00", "60.00"));
  const std::string tail = " --cluster star --algorithm ring --against " + file.path();
  CHECK(rows_of("lockstep collective reduce_scatter" + tail)[0]["collective"] == "reduce_scatter");
  const CommandResult both = run_command("lockstep collective" + tail);
  CHECK(both.status == 2);
  CHECK(contains(both.err, "2 runs in one file, of all_reduce, reduce_scatter; expected one"));
}

}  // namespace lockstep
