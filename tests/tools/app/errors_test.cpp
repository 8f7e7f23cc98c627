#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/config/json/config_error.hpp"
#include "sim/execute/command_graph/backend.hpp"
#include "sim/execute/kernels/execution_error.hpp"
#include "sim/network/share_error.hpp"
#include "strategies/step/simulate.hpp"
#include "strategies/verification/shrink/shrink.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/graph/parameters.hpp"
#include "topologies/import/import.hpp"

namespace lockstep {
namespace {

TEST_CASE("an error has a place and a message, and both in its text") {
  const Error error(ErrorCode::io, "no space", "out.json", "use another disk");
  CHECK(error.what() == std::string{"out.json: no space"});
  CHECK(error.place() == "out.json");
  CHECK(error.message() == "no space");
  CHECK(error.hint() == "use another disk");
  CHECK(Error(ErrorCode::io, "no space").what() == std::string{"no space"});
}

/// The code by which a caller tells what to do, of everything that is thrown.
TEST_CASE("every exception has a code") {
  CHECK(InternalError("a.cpp:1: check failed: x").code() == ErrorCode::internal);
  CHECK(OutOfRange("time out of range").code() == ErrorCode::negative_result);
  CHECK(ShareError{}.code() == ErrorCode::invalid_input);
  CHECK(BuildError("ranks", "too many").code() == ErrorCode::invalid_input);
  CHECK(BuildError("ranks", "too many").place() == "ranks");
  CHECK(LinkChangeError("no such link").code() == ErrorCode::invalid_input);
  CHECK(ImportError("no GPU").code() == ErrorCode::invalid_input);
  CHECK(NotShrinkable("tp").code() == ErrorCode::invalid_input);
  CHECK(ProgramStuck("deadlock").code() == ErrorCode::negative_result);
  CHECK(TrainingStepTooLarge("too many ranks").code() == ErrorCode::invalid_input);
  CHECK(ExecutionError("unwritten").code() == ErrorCode::negative_result);
  CHECK(DeviceError("out of memory").code() == ErrorCode::negative_result);
  CHECK(NoDevice("no GPU").code() == ErrorCode::negative_result);
  const ConfigError config({"a.json", {3, 5}, "/nodes", "expected a number"});
  CHECK(config.code() == ErrorCode::invalid_input);
  CHECK(config.place() == "a.json:3:5");
  CHECK(config.message() == "expected a number");
  CHECK(app::RequestError("x").code() == ErrorCode::invalid_input);
  CHECK(app::Refusal("x").code() == ErrorCode::negative_result);
  CHECK(app::IoError("x").code() == ErrorCode::io);
}

TEST_CASE("the command line names the option that sets a field") {
  const app::RequestError one("set_link \"a -> b\"", "no such link");
  CHECK(one.what() == std::string{"set_link \"a -> b\": no such link"});
  CHECK(cli::text_of(one) == "--set-link \"a -> b\": no such link");
  CHECK(cli::text_of(app::RequestError("nodes 3 ranks 4", "too many")) ==
        "--nodes 3 --ranks 4: too many");
  CHECK(cli::text_of(app::RequestError("nothing to verify")) == "nothing to verify");
  const app::RequestError both(
      std::vector<app::RequestProblem>{{"algorithm ring", "too small"}, {"algorithm", "unknown"}});
  CHECK(both.place() == "algorithm ring");
  CHECK(both.problems().size() == 2);
  CHECK(cli::text_of(both) == "--algorithm ring: too small\n  --algorithm: unknown");
}

TEST_CASE("exit codes follow the error's code") {
  CHECK(cli::exit_code(app::RequestError("x")) == 2);
  CHECK(cli::exit_code(app::Refusal("x")) == 1);
  CHECK(cli::exit_code(app::IoError("x")) == 4);
  CHECK(cli::exit_code(InternalError("x")) == 3);
}

}  // namespace
}  // namespace lockstep
