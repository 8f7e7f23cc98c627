#include <doctest/doctest.h>

#include <string>

#include "tests/tools/run_command.hpp"

/// A root is somebody's, or the option is refused.
namespace lockstep {

namespace {

void check_refused(const std::string& command, const std::string& text) {
  CAPTURE(command);
  const CommandResult result = run_command("lockstep " + command);
  CHECK(result.status == 2);
  CHECK(contains(result.err, text));
  CHECK(result.out.empty());
}

}  // namespace

TEST_CASE("a root of a collective that has none is refused by every command") {
  const std::string none = "--root: all_reduce has no root";
  for (const std::string root : {"0", "3"}) {
    check_refused("collective all_reduce --root " + root, none);
    check_refused("collective all_reduce,barrier --root " + root, "all_reduce, barrier have no");
    check_refused("explain all_reduce --algorithm ring --root " + root, none);
    check_refused("verify collective all_reduce --root " + root, none);
    check_refused("complexity all_reduce --ranks 2..4 --root " + root, none);
    check_refused("schedule export all_reduce --ranks 4 --root " + root, none);
    check_refused("collective all_reduce --crossover -e 1K --root " + root, none);
  }
  check_refused("verify collective all_reduce --root all", none);
}

TEST_CASE("a root is taken where one of several collectives has it") {
  CHECK(run_command("lockstep collective broadcast,all_reduce --algorithm all --ranks 4 --root 3")
            .status == 0);
  CHECK(run_command("lockstep verify collective all --ranks 4 --root all").status == 0);
  CHECK(run_command("lockstep verify collective broadcast --ranks 4 --root 3").status == 0);
  CHECK(run_command("lockstep schedule export broadcast --algorithm binomial --ranks 4 --root 3")
            .status == 0);
}

TEST_CASE("schedules from files and concurrent collectives have roots of their own") {
  const TemporaryFile jobs(R"({"collectives": [{"collective": "all_reduce", "size": "1 MiB",
    "root": 1}]})");
  check_refused("collective --concurrent " + jobs.path(), "all_reduce has no root");
  const TemporaryFile fine(R"({"collectives": [{"collective": "broadcast", "size": "1 MiB",
    "root": 1}]})");
  CHECK(run_command("lockstep collective --concurrent " + fine.path()).status == 0);
  check_refused("collective --root 1 --concurrent " + fine.path(), "leave out --root");
  const TemporaryFile schedule(
      output_of("lockstep schedule export broadcast --algorithm binomial --ranks 4 --root 2"));
  check_refused("collective broadcast --root 1 --schedule " + schedule.path(), "--root: the roots");
  check_refused("verify collective broadcast --root 1 --schedule " + schedule.path(),
                "--root: the roots");
  CHECK(rows_of("lockstep collective --schedule " + schedule.path())[0]["root"] == 2);
}

TEST_CASE("one rank in chunks that starts late ends when it starts, folded or not") {
  for (const std::string what :
       {"sharp:chunks=2 --cluster star --ranks 1", "nvls:chunks=2 --cluster dgx-h100 --ranks 1",
        "hierarchical:chunks=3 --cluster star --ranks 1"}) {
    for (const std::string fold : {"auto", "off"}) {
      CAPTURE(what);
      const auto row = rows_of(
          "lockstep collective all_reduce --size 100 --set-rank 0 start=3us "
          "--fold " +
          fold + " --algorithm " + what)[0];
      CHECK(row["time_s"] == 3e-6);
    }
  }
}

TEST_CASE("no difference from a formula is reported as none") {
  for (const std::string algorithm : {"ring:channels=2", "bidirectional_ring", "torus:copies=2",
                                      "binary_tree", "double_binary_tree", "ring"}) {
    for (const std::string size : {"8", "48", "1000", "64M"}) {
      const CommandResult result = run_command(
          "lockstep explain all_reduce --ranks 8 --algorithm " + algorithm + " --size " + size);
      if (result.status != 0) continue;
      CAPTURE(algorithm);
      CAPTURE(size);
      CHECK_FALSE(contains(result.out, "# simulated: 0 ps"));
      CHECK_FALSE(contains(result.out, "-0.0 %"));
      CHECK_FALSE(contains(result.out, "+0.0 %"));
    }
  }
}

}  // namespace lockstep
