#include "tools/lockstep/terminal/progress.hpp"

#include <doctest/doctest.h>

#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

TEST_CASE("a phase is shown with its share and the time left") {
  CHECK(phase_text("run", {"simulating the step", 0.25, "2 s simulated"}, 8, 12.0) ==
        "run: simulating the step, 25 % done, 2 s simulated, 8 s, about 12 s left");
  CHECK(phase_text("run", {"simulating the step", 0.01, ""}, 6, 600.0) ==
        "run: simulating the step, 1 % done, 6 s, about 10 minutes left");
  CHECK(phase_text("run", {"simulating the step", 0.5, "", "expanding operations"}, 20, 10.0) ==
        "run: simulating the step: expanding operations, 50 % done, 20 s, about 10 s left");
  CHECK(phase_text("run", {"laying out the step", 0, ""}, 3, {}) ==
        "run: laying out the step, 3 s");
}

TEST_CASE("a job of minutes is announced with what takes less, a shorter one is not") {
  CHECK(long_job_text(59, "--core compares less").empty());
  CHECK(long_job_text(70, "--core compares less") == "about a minute; --core compares less");
  CHECK(long_job_text(70, "") == "about a minute");
  CHECK(long_job_text(290, "--core compares less") == "about 5 minutes; --core compares less");
  CHECK(long_job_text(3 * 3600, "") == "about 3 hours");
}

TEST_CASE("only options that are not given make a step shorter") {
  RunOptions run;
  CHECK(quicker_options(run, true) == "--fidelity representatives or --suggest 0 take less");
  run.fold = "off";
  run.fidelity = "all";
  CHECK(quicker_options(run, false) == "--fold auto or --fidelity representatives take less");
  run.fold = "auto";
  run.fidelity = "representatives";
  CHECK(quicker_options(run, true) == "--suggest 0 takes less");
  CHECK(quicker_options(run, false).empty());
  run.network = "queue";
  CHECK(quicker_options(run, false) == "--network fluid takes less");
  run.network = "fluid";
  CHECK(quicker_options(run, false, true) ==
        "a step without --trace, where ranks share work, takes less");
}

}  // namespace lockstep::cli
