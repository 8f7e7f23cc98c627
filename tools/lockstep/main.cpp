#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "sim/base/check.hpp"
#include "sim/config/json/config_error.hpp"
#include "tools/lockstep/command_line.hpp"
#include "tools/lockstep/malloc_tuning.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/terminal/terminal.hpp"

namespace {

using lockstep::cli::Emphasis;

/// Prints errors to stderr.
class Failure {
 public:
  Failure(int argc, char** argv)
      : color_{lockstep::cli::has_color(lockstep::cli::color_mode_of(argc, argv), STDERR_FILENO)} {}

  /// One error, with the tool's name before it. Returns the code.
  [[nodiscard]] int of(int code, const std::string& text) const {
    std::string out = text;
    while (!out.empty() && out.back() == '\n') out.pop_back();
    fmt::print(stderr, "lockstep: {} {}\n", word(), out);
    return code;
  }

  [[nodiscard]] int of_bug(const std::exception& error) const {
    return of(lockstep::cli::kInternal,
              fmt::format("internal: {}; please report this", error.what()));
  }

  /// Those of a file, each with its place.
  [[nodiscard]] int of_config(const lockstep::ConfigError& error) const {
    std::string out = error.what();
    constexpr std::string_view kWord = ": error: ";
    for (std::size_t at = 0; color_ && (at = out.find(kWord, at)) != std::string::npos;) {
      const std::string colored = ": " + word() + " ";
      out.replace(at, kWord.size(), colored);
      at += colored.size();
    }
    fmt::print(stderr, "{}\n", out);
    return lockstep::cli::kUsage;
  }

 private:
  [[nodiscard]] std::string word() const {
    if (!color_) return "error:";
    return fmt::format("{}error:{}", begin_of(Emphasis::error), lockstep::cli::kEndOfEmphasis);
  }

  bool color_;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace lockstep;
  cli::tune_malloc();
  const Failure fail(argc, argv);
  try {
    return cli::run_command_line(argc, argv);
  } catch (const ConfigError& error) {
    return fail.of_config(error);
  } catch (const OutOfRange& error) {
    return fail.of(cli::kNo,
                   fmt::format("{}: too large to simulate (times up to 106 days)", error.what()));
  } catch (const InternalError& error) {
    return fail.of_bug(error);
  } catch (const Error& error) {
    return fail.of(cli::exit_code(error), cli::text_of(error));
  } catch (const std::bad_alloc&) {
    return fail.of(cli::kNo, "out of memory");
  } catch (const std::exception& error) {
    return fail.of_bug(error);
  }
}
