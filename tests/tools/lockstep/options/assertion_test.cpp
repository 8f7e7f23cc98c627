#include "tools/lockstep/options/assertion.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/tools/run_command.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

Report two_rows() {
  Report out;
  for (const char* key : {"algorithm", "size_bytes", "time_s", "busbw_Bps", "best", "wrong"})
    out.columns.push_back({key, key, {}, false});
  out.sections.push_back({{},
                          {{Cell{std::string{"ring"}}, Cell{std::int64_t{1024}}, Cell{0.25},
                            Cell{5e10}, Cell{true}, Cell{}},
                           {Cell{std::string{"tree"}}, Cell{std::int64_t{1024}}, Cell{0.5},
                            Cell{2.5e10}, Cell{false}, Cell{}}}});
  return out;
}

/// The reason why it fails; empty: it holds.
std::string failure(const std::string& text, AssertedRows rows = AssertedRows::all) {
  try {
    check_assertions(parse_assertions({text}), two_rows(), rows);
  } catch (const AssertionFailed& failed) {
    return failed.what();
  }
  return {};
}

std::string error_of(const std::string& text) {
  try {
    check_assertions(parse_assertions({text}), two_rows(), AssertedRows::all);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

CommandResult lockstep(const std::string& arguments) {
  return run_command(LOCKSTEP_BINARY " " + arguments + " 2>&1");
}

}  // namespace

// The rows above, compared by hand.
TEST_CASE("an assertion holds for every row, in the units of its column") {
  for (const char* text : {"time_s < 0.6", "time_s<=500 ms", "time_s != 0.3 s",
                           "size_bytes == 1 KiB", "size_bytes >= 1024", "busbw_Bps > 20 GB/s",
                           "busbw_Bps <= 400 Gb/s", "algorithm != naive"}) {
    CAPTURE(text);
    CHECK(failure(text).empty());
  }
  CHECK(failure("time_s < 300 ms") ==
        "--assert: \"time_s < 300 ms\" does not hold: time_s is 0.5 (algorithm tree, busbw_Bps "
        "25000000000, best false)");
  CHECK(failure("best == true").find("best is false (algorithm tree") != std::string::npos);
  CHECK(failure("best == true", AssertedRows::first).empty());
  CHECK(failure("algorithm == ring").find("is tree") != std::string::npos);
  CHECK(failure("time_s < 0.25").find("; time_s is 0.5") != std::string::npos);
}

TEST_CASE("an absent value and a report without rows are against an assertion") {
  CHECK(failure("wrong == 0").find("wrong has no value") != std::string::npos);
  CHECK(failure("wrong != 0").find("wrong has no value") != std::string::npos);
  Report empty = two_rows();
  empty.sections.front().rows.clear();
  CHECK_THROWS_AS(check_assertions(parse_assertions({"time_s < 1"}), empty, AssertedRows::first),
                  AssertionFailed);
}

TEST_CASE("a malformed assertion says what is expected") {
  CHECK(error_of("time < 1") ==
        "--assert: \"time < 1\": no column \"time\" (did you mean \"time_s\"?); there are "
        "algorithm, size_bytes, time_s, busbw_Bps, best, wrong");
  CHECK(error_of("time_s").find("expected a column, one of < <= > >= == != and a value") !=
        std::string::npos);
  CHECK(error_of("< 3").find("expected a column") != std::string::npos);
  CHECK(error_of("time_s <").find("expected a column") != std::string::npos);
  CHECK(error_of("time_s = 3").find("expected a column") != std::string::npos);
  CHECK(error_of("time_s < 3 GiB").find("a time such as 12, 12 s or 200 ms, got \"3 GiB\"") !=
        std::string::npos);
  CHECK(error_of("size_bytes < 3 s").find("a size such as") != std::string::npos);
  CHECK(error_of("busbw_Bps < fast").find("a rate such as") != std::string::npos);
  CHECK(error_of("algorithm < ring").find("expected a number, got \"ring\"") != std::string::npos);
}

// Exit codes as in CONTRIBUTING: 0 holds, 1 does not, 2 is malformed. The result is printed in all
// cases but a malformed condition.
TEST_CASE("run, collective, plan and sweep end with exit code 1 if an assertion does not hold") {
  const auto gated = [](const std::string& command, const std::string& key) {
    CAPTURE(command);
    CHECK(lockstep(command + " --assert '" + key + " > 0'").status == 0);
    const CommandResult failed =
        lockstep(command + " --assert '" + key + " > 0' --assert '" + key + " < 1 ps'");
    CHECK(failed.status == 1);
    CHECK(failed.out.find("< 1 ps\" does not hold: " + key + " is ") != std::string::npos);
    CHECK(failed.out.size() > 300);
    CHECK(lockstep(command + " --assert '" + key + "'").status == 2);
    CHECK(lockstep(command + " --assert '" + key + "s < 1'").status == 2);
  };
  gated("run mlp-two-gpus --suggest 0", "step_time_s");
  gated("collective all_reduce -n 4 --size 1M", "time_s");
  const std::string small =
      "--model llama3-8b --cluster dgx-h100 --nodes 1 --global-batch 8 --fix tp=8 --fix "
      "overlap=none --fix micro_batch=1 --fix recompute=full --fix zero=1";
  gated("plan " + small, "step_time_s");
  gated("sweep mlp-two-gpus --vary parallel.micro_batch=1", "step_time_s");
  CHECK(lockstep("plan " + small + " --explain tp=8 --assert 'step_time_s < 1'").status == 2);
  CHECK(lockstep("plan " + small + " --emit slurm --assert 'step_time_s < 1'").status == 2);
}

}  // namespace lockstep::cli
