#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "sim/base/check.hpp"
#include "sim/config/config_error.hpp"
#include "tools/lockstep/command_line.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/malloc_tuning.hpp"

namespace {

/// Prints one error to stderr, every line with the tool's name before it.
int fail(int code, const std::string& text) {
  std::string out = text;
  while (!out.empty() && out.back() == '\n') out.pop_back();
  fmt::print(stderr, "lockstep: error: {}\n", out);
  return code;
}

int report_bug(const std::exception& error) {
  return fail(lockstep::cli::kInternal,
              fmt::format("internal: {}; please report this", error.what()));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lockstep;
  cli::tune_malloc();
  try {
    return cli::run_command_line(argc, argv);
  } catch (const ConfigError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return cli::kUsage;
  } catch (const OutOfRange& error) {
    return fail(cli::kNo,
                fmt::format("{}: too large to simulate (times up to 106 days)", error.what()));
  } catch (const InternalError& error) {
    return report_bug(error);
  } catch (const Error& error) {
    return fail(cli::exit_code(error), cli::text_of(error));
  } catch (const std::bad_alloc&) {
    return fail(cli::kNo, "out of memory");
  } catch (const std::exception& error) {
    return report_bug(error);
  }
}
