#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "sim/execute/cuda/plan/backend.hpp"
#include "sim/network/share_error.hpp"
#include "tools/lockstep/command_line.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/keep_memory.hpp"
#include "topologies/config/config_error.hpp"

namespace {

/// Prints one error to stderr, every line with the tool's name before it.
int fail(int code, const std::string& text) {
  std::string out = text;
  while (!out.empty() && out.back() == '\n') out.pop_back();
  fmt::print(stderr, "lockstep: error: {}\n", out);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lockstep;
  cli::keep_memory();
  try {
    return cli::run_command_line(argc, argv);
  } catch (const ConfigError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return cli::kUsage;
  } catch (const cli::UsageError& error) {
    return fail(cli::kUsage, error.what());
  } catch (const cli::Refusal& error) {
    return fail(cli::kNo, error.what());
  } catch (const ShareError& error) {
    return fail(cli::kUsage, error.what());
  } catch (const DeviceError& error) {
    return fail(cli::kNo, error.what());
  } catch (const cli::IoError& error) {
    return fail(cli::kIo, error.what());
  } catch (const std::overflow_error& error) {
    return fail(cli::kNo,
                fmt::format("{}: too large to simulate (times up to 106 days)", error.what()));
  } catch (const std::bad_alloc&) {
    return fail(cli::kNo, "out of memory");
  } catch (const std::exception& error) {
    return fail(cli::kInternal, fmt::format("internal: {}; please report this", error.what()));
  }
}
