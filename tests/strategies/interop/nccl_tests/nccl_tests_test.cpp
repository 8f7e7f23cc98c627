#include "strategies/interop/nccl_tests/nccl_tests.hpp"

#include <doctest/doctest.h>

#include "tests/strategies/interop/text/corpus.hpp"
#include "tests/strategies/interop/text/refused.hpp"

using namespace lockstep;

namespace {

using Lines = std::vector<std::string>;

const std::string kData = std::string{LOCKSTEP_SOURCE_DIR} + "/tests/data/nccl_tests/";

Lines problems_of(const std::string& text) {
  return test::refused([&text] { return parse_nccl_tests(text, "f"); });
}

NcclRow row_of(const std::string& text) {
  const auto runs = parse_nccl_tests(text, "f");
  REQUIRE(runs.size() == 1);
  REQUIRE(runs[0].rows.size() == 1);
  return runs[0].rows[0];
}

}  // namespace

TEST_CASE("a run of a present version is read with its heading and its footer") {
  const auto runs = read_nccl_tests(kData + "all_reduce.txt");
  REQUIRE(runs.size() == 1);
  const NcclRun& run = runs[0];
  CHECK(run.version == "2.17.1");
  CHECK(run.collective == "all_reduce");
  CHECK(run.threads == 1);
  CHECK(run.gpus_per_thread == 4);
  REQUIRE(run.devices.size() == 2);
  CHECK(run.devices[1].rank == 1);
  CHECK(run.devices[1].host == "machine");
  CHECK(run.devices[1].device == 1);
  CHECK(run.devices[1].name == "Example GPU 40GB");
  CHECK(run.average_busbw_gb_per_s == 41.4835);
  REQUIRE(run.rows.size() == 2);
  CHECK(run.rows[0].size == 8_B);
  CHECK(run.rows[0].count == 2);
  CHECK(run.rows[0].type == "float");
  CHECK(run.rows[0].redop == "sum");
  CHECK(run.rows[0].root == -1);
  CHECK(run.rows[0].at.line == 12);
  CHECK(run.rows[0].at.column == 12);
  REQUIRE(run.rows[0].out_of_place);
  CHECK(run.rows[0].out_of_place->time == 13'180_ns);
  CHECK(run.rows[0].out_of_place->wrong == 0);
  CHECK_FALSE(run.rows[0].in_place->wrong);  // not checked
  CHECK(run.rows[0].is_valid());
  CHECK(run.rows[1].out_of_place->time == 1'234'500_ns);
  CHECK(run.rows[1].out_of_place->algbw_gb_per_s == 0.85);
  CHECK(run.rows[1].out_of_place->busbw_gb_per_s == 1.27);
  CHECK(run.rows[1].in_place->time == 1'200_ms);
  CHECK(run.rows[1].is_valid(run.rows[1].out_of_place));
  CHECK_FALSE(run.rows[1].is_valid(run.rows[1].in_place));  // three wrong elements
  CHECK_FALSE(run.rows[1].is_valid());
}

TEST_CASE("runs one after the other are distinguished, in the forms of old versions") {
  const auto runs = read_nccl_tests(kData + "old_forms.txt");
  REQUIRE(runs.size() == 4);
  CHECK(runs[0].collective == "reduce");
  CHECK(runs[0].threads == 2);
  CHECK(runs[0].devices.size() == 1);
  CHECK(runs[0].rows[0].redop == "sum");
  CHECK(runs[0].rows[0].root == 1);
  CHECK(runs[0].rows[0].is_valid(runs[0].rows[0].out_of_place));    // 2e-7 of a float
  CHECK_FALSE(runs[0].rows[0].is_valid(runs[0].rows[0].in_place));  // 1e-4 of a float
  CHECK(runs[1].collective == "broadcast");
  CHECK(runs[1].rows[0].redop.empty());
  CHECK(runs[1].rows[0].root == 0);
  CHECK(runs[1].rows[0].is_valid(runs[1].rows[0].out_of_place));
  CHECK_FALSE(runs[1].rows[0].is_valid(runs[1].rows[0].in_place));
  CHECK(runs[2].collective == "all_gather");
  CHECK_FALSE(runs[2].rows[0].out_of_place);
  REQUIRE(runs[2].rows[0].in_place);
  CHECK(runs[2].rows[0].in_place->time == 20_us);
  CHECK(runs[3].label == "NCCL");
  CHECK(runs[3].rows[0].root == -1);
  CHECK(runs[3].rows[0].size == 16_B);
}

TEST_CASE("the JSON form is read as the text form is") {
  const auto runs = read_nccl_tests(kData + "alltoall.json");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].collective == "all_to_all");
  CHECK(runs[0].version == "2.17.6");
  CHECK(runs[0].gpus_per_thread == 2);
  CHECK(runs[0].devices.size() == 2);
  CHECK(runs[0].devices[1].name == "Example GPU");
  CHECK(runs[0].average_busbw_gb_per_s == 0.0005);
  REQUIRE(runs[0].rows.size() == 1);
  CHECK(runs[0].rows[0].out_of_place->time == 9500_ns);
  CHECK(runs[0].rows[0].out_of_place->wrong == 0);
  CHECK(runs[0].rows[0].in_place->time == 10_us);
  CHECK_FALSE(runs[0].rows[0].in_place->wrong);
}

TEST_CASE("how many wrong elements are too many depends on the type") {
  const auto is_valid = [](const std::string& type, const std::string& wrong) {
    return row_of("8 2 " + type + " sum -1 1.0 0.0 0.0 " + wrong).is_valid();
  };
  CHECK(is_valid("float", "1e-07"));
  CHECK(is_valid("float", "0"));
  CHECK(is_valid("float", "N/A"));
  CHECK_FALSE(is_valid("float", "1e+00"));
  CHECK_FALSE(is_valid("float", "1"));
  CHECK(is_valid("half", "9e-03"));
  CHECK_FALSE(is_valid("half", "2e-02"));
  CHECK_FALSE(is_valid("int32", "1e-07"));
  CHECK(is_valid("int32", "0e+00"));
}

TEST_CASE("a half that a collective does not have is absent") {
  const NcclRow row = row_of("8 2 float none -1 1.0 0.0 0.0 0 N/A N/A N/A N/A");
  CHECK(row.out_of_place);
  CHECK_FALSE(row.in_place);
}

TEST_CASE("log lines and the prefixes of launchers are passed over") {
  const auto runs = parse_nccl_tests(
      "\xEF\xBB\xBF"
      "node7:12:13 [0] NCCL INFO Bootstrap : Using eth0\n"
      "2025-01-01 12:00:00 node7:12:13 [0] NCCL WARN something\r\n"
      "\n"
      "[1,0]<stdout>:#  Rank  0 Group  0 Pid 1 on a device 3 [0x07] X\n"
      "[1,0]<stdout>:   8  2  float  sum  -1  1.0  0.0  0.0  0\n"
      "0:   16  4  float  sum  -1  1.0  0.0  0.0  0\r\n",
      "f");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].devices[0].device == 3);
  REQUIRE(runs[0].rows.size() == 2);
  CHECK(runs[0].rows[1].size == 16_B);
  CHECK(runs[0].rows[1].at.column == 6);
}

TEST_CASE("what looks like a row and is none is reported by line and column, all of it") {
  CHECK(problems_of("8 2 float sum -1 1.0 0.0 0.0 0\n"
                    "8 2 float sum -1 1.0 0.0\n"
                    "8x 2 float sum -1 1.0 0.0 0.0 0\n"
                    "  8 2 3.5 sum -1 fast 0.0 -1 zero\n"
                    "8 2 float sum -1 1.0\n"
                    "hello world\n"
                    "-8 2 float sum -1 1.0 0.0 0.0 0\n"
                    "8 2 float 9 -2 1e18 nan 0.0 0\n"
                    "# nThread x nGpus 1\n"
                    "# Rank 0\n"
                    "# Avg bus bandwidth : high\n") ==
        Lines{"f:2:11: expected a time in us, got \"sum\"",
              "f:2:15: expected a bandwidth in GB/s, got \"-1\"",
              "f:3:1: expected a size in bytes, got \"8x\"",
              "f:4:7: expected a type such as float, got \"3.5\"",
              "f:4:18: expected a time in us, got \"fast\"",
              "f:4:27: expected a bandwidth in GB/s, got \"-1\"",
              "f:4:30: expected a number of wrong elements or N/A, got \"zero\"",
              // The first row has one half, and so have the others.
              "f:5:1: expected a row of 7 to 9 words: size, count, type, perhaps redop "
              "and root, then per half time, algbw, busbw and #wrong; got 6",
              "f:7:1: expected a size in bytes, got \"-8\"",
              "f:8:11: expected an operation such as sum, got \"9\"",
              "f:8:13: expected a root, got \"-2\"", "f:8:16: a time beyond 106 days",
              "f:8:21: expected a bandwidth in GB/s, got \"nan\"",
              "f:9:11: expected an integer, got \"x\"",
              "f:10:3: expected a device such as \"Rank 0 Pid 1 on host device 0 [0x07] name\"",
              "f:11:23: expected a bandwidth in GB/s, got \"high\""});
  // Where the headings say that there are two halves, a row that ends early has not one.
  CHECK(problems_of("# out-of-place in-place\n8 2 float sum -1 1.0 0.0 0.0 0\n") ==
        Lines{"f:2:1: expected a row of 11 to 13 words: size, count, type, perhaps redop and root, "
              "then per half time, algbw, busbw and #wrong; got 9"});
}

TEST_CASE("a text without results is refused") {
  CHECK(problems_of("") == Lines{"f: there are no results of nccl-tests here"});
  CHECK(problems_of("# nThread 1 nGpus 1\n") ==
        Lines{"f: there are no results of nccl-tests here"});
  CHECK(
      problems_of(std::string("\x00\x01\x02", 3)) ==
      Lines{"f: there are no results of nccl-tests here, and 1 line that is neither of nccl-tests "
            "nor of NCCL"});
  CHECK(problems_of("8 2 float sum -1 1.0") ==
        Lines{"f: there are no results of nccl-tests here: the text ends within its first row"});
  CHECK(problems_of("{\"results\": []}") ==
        Lines{"f:1:13: /results: expected at least 1 element, got 0"});
  CHECK(problems_of("{") ==
        Lines{"f:1:2: expected a key in double quotes, got the end of the file"});
}

TEST_CASE("what a log holds besides is skipped and counted, never taken for a row") {
  const auto runs = parse_nccl_tests(
      "srun: job 4711 queued and waiting for resources\n"    // counted
      "Mon May  1 12:00:00 UTC 2024\n"                       // counted
      "+ mpirun -np 2 ./build/all_reduce_perf -b 8 -e 16\n"  // the command
      "rccl-tests: Version develop:deadbeef\n"               // no "#" before it
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 16\n"
      "node7:12:13 [0] NCCL INFO comm 0x55 rank 0 nranks 16 cudaDev 0 busId 7000 - Init COMPLETE\n"
      "8 2 float sum -1 1.0 0.0 0.0 0\n"
      "8 2\n"                                                    // counted: too short for a row
      "2024-05-01 12:00:00 INFO nothing of interest happened\n"  // counted
      "16 4 float sum -1 1.0 0.0 0.0 0\n"
      "# Avg bus bandwidth    : 0\n"
      "\n"
      "real    0m12.345s\n"
      "user    0m1.000s\n"
      "sys     0m0.100s\n"
      "hello world\n",  // counted
      "f");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].collective == "all_reduce");
  CHECK(runs[0].version == "develop:deadbeef");
  CHECK(runs[0].communicator_ranks == 16);
  CHECK(runs[0].rows.size() == 2);
  CHECK(runs[0].skipped_lines == 5);
  CHECK_FALSE(runs[0].cut_row);
}

TEST_CASE("what NCCL says of communicators between and behind rows begins no run") {
  const std::string row = "8 2 float sum -1 1.0 0.0 0.0 0\n";
  const std::string late = "node7:12:13 [1] NCCL INFO comm 0x55 rank 1 nranks 16 - ";
  const auto runs =
      parse_nccl_tests("# nThread 1 nGpus 1\n" + row + late + "Init COMPLETE\n" + row + late +
                           "Destroy COMPLETE\n" + "# nThread 1 nGpus 8\n" + row,
                       "f");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].rows.size() == 2);
  CHECK(runs[0].communicator_ranks == 16);
  CHECK(runs[1].rows.size() == 1);
  CHECK_FALSE(runs[1].communicator_ranks);
}

TEST_CASE("prefixes of launchers and log collectors do not hide rows") {
  const std::string row = "  16   4  float  sum  -1  1.0  0.0  0.0  0";
  for (const std::string prefix : {"",
                                   "\t",
                                   "[1,0]<stdout>:",
                                   "[1,0]<stdout>: ",
                                   "0: ",
                                   " 0: ",
                                   "[0] ",
                                   "[node7]: ",
                                   "2024-05-01T12:00:00.123456789Z ",
                                   "2024-05-01T12:00:00+02:00 ",
                                   "2024-05-01T12:00:00.123456789Z stdout F ",
                                   "2024-05-01 12:00:00.123 ",
                                   "[12:00:00] ",
                                   "[2024-05-01 12:00:00] ",
                                   "[2024-05-01 12:00:00]: ",
                                   "2024-05-01 12:00:00,123 INFO ",
                                   "2024-05-01 12:00:00 [info] ",
                                   "May  1 12:00:00 ",
                                   "May 01 12:00:00 node7 slurmstepd[123]: ",
                                   "[pod/nccl-0/main] ",
                                   "node7: ",
                                   "worker-0  | ",
                                   "> ",
                                   "\x1b[0m\x1b[32m",
                                   "3: 2024-05-01T12:00:00Z ",
                                   "working...\r"}) {
    CAPTURE(prefix);
    const NcclRow read = row_of(prefix + row + "\r\n");
    CHECK(read.size == 16_B);
    CHECK(read.count == 4);
    CHECK(read.out_of_place->time == 1_us);
    const auto runs = parse_nccl_tests(
        prefix + "#  Rank  0 Group  0 Pid 1 on a device 3 [0x07] X\n" + prefix + row + "\n", "f");
    REQUIRE(runs[0].devices.size() == 1);
    CHECK(runs[0].devices[0].device == 3);
    CHECK(runs[0].devices[0].name == "X");
    CHECK(runs[0].skipped_lines == 0);
  }
}

TEST_CASE("a text that ends within a row has lost it, and says so") {
  const std::string whole = "8 2 float sum -1 1.0 0.0 0.0 0 1.0 0.0 0.0 0\n";
  for (const char* cut :
       {"16 4 float sum -1 1.0 0.0 0.0 0 1.0 0.0", "16 4 float sum -1 1.0 0.0 0.0 0",
        "16 4 float sum -1 1.", "16 4 float"}) {
    CAPTURE(cut);
    const auto runs = parse_nccl_tests(whole + cut, "f");
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].rows.size() == 1);
    CHECK(runs[0].cut_row);
  }
  // So it does where a job is ended by Slurm, which writes behind it.
  const std::string cut = "16 4 float sum -1 1.0 0.0 0.0 0\n";
  const auto ended = parse_nccl_tests(
      whole + cut + "slurmstepd: error: *** JOB 7 ON n0 CANCELLED ***\nreal 0m3.2s\n", "f");
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].rows.size() == 1);
  CHECK(ended[0].cut_row);
  CHECK(ended[0].skipped_lines == 1);
  // With more rows behind it such a row is an error.
  CHECK(problems_of(whole + cut + "32 8 float sum -1 1.0 0.0 0.0 0 1.0 0.0 0.0 0\n") ==
        Lines{"f:2:1: expected a row of 11 to 13 words: size, count, type, perhaps redop and root, "
              "then per half time, algbw, busbw and #wrong; got 9"});
}

TEST_CASE("devices name all ranks where each from 0 on is there once") {
  const auto devices = [](std::initializer_list<int> ranks) {
    std::string text;
    for (const int rank : ranks) {
      text += "# Rank " + std::to_string(rank) + " Pid 1 on a device 0 [0x07] X\n";
    }
    return parse_nccl_tests(text + "8 2 float sum -1 1.0 0.0 0.0 0\n", "f")[0].names_all_ranks();
  };
  CHECK(devices({0}));
  CHECK(devices({0, 1, 2}));
  CHECK_FALSE(devices({}));
  CHECK_FALSE(devices({3}));     // the log of one rank of many
  CHECK_FALSE(devices({0, 0}));  // two processes that know nothing of each other
}

TEST_CASE("measurements by others are read") {
  const auto path = test::corpus("nccl-tests/allreduce-8xA100-nccl.txt");
  if (!path) return;
  const auto runs = read_nccl_tests(*path);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].label == "NCCL");
  REQUIRE(runs[0].rows.size() == 19);  // 128 B to 32 MiB by factors of two
  for (std::size_t i = 0; i < 19; ++i) {
    const NcclRow& row = runs[0].rows[i];
    CHECK(row.size == 128_B * (std::int64_t{1} << i));
    CHECK(row.is_valid());
    // algbw is the size over the time; both are printed with two decimals or four digits.
    const double algbw = static_cast<double>(row.size.count()) / row.in_place->time.seconds() / 1e9;
    CHECK(row.in_place->algbw_gb_per_s == doctest::Approx(algbw).epsilon(0.01).scale(1));
    // busbw is 2 * 7 / 8 of that.
    CHECK(row.in_place->busbw_gb_per_s ==
          doctest::Approx(1.75 * row.in_place->algbw_gb_per_s).epsilon(0.02).scale(1));
  }
}

TEST_CASE("mpirun's tag may follow the time of a log collector") {
  // As `kubectl logs --timestamps` prints the launcher of an MPI job.
  const std::string prefix = "2026-11-24T10:00:01.123456789Z [1,0]<stdout>:";
  const auto runs =
      parse_nccl_tests(prefix + "#  Rank  0 Group  0 Pid 1 on n0 device 3 [0x07] X\n" + prefix +
                           "#\n" + prefix + "     8 2 float sum -1 1.0 0.0 0.0 0 1.0 0.0 0.0 0\n" +
                           prefix + "16 4 float sum -1 1.0 " + "0.0 0.0 0 1.0 0.0 0.0 0\n",
                       "f");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].rows.size() == 2);
  CHECK(runs[0].skipped_lines == 0);
  REQUIRE(runs[0].devices.size() == 1);
  CHECK(runs[0].devices[0].device == 3);
}
