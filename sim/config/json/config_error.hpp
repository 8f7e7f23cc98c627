#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"

/// Problems of a user's file, collected with their positions.
namespace lockstep {

/// A position in a text. Lines and columns are 1-based; columns count code points, excluding a byte
/// order mark. Line 0: the file as a whole.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct Problem {
  std::string file;
  Position at;
  std::string pointer;  // JSON pointer (RFC 6901); empty for the document itself
  std::string message;  // without a final full stop
};

/// `text` in double quotes on one line: control characters escaped, long texts cut with "...".
[[nodiscard]] std::string in_quotes(std::string_view text);

/// All problems of a config file. The text is
///   configs/dgx.json:14:20: error: /algorithm: no all-reduce named "rng"; did you mean "ring"?
///   1 error; nothing was run
/// with at most kMostPrinted problems.
class ConfigError : public Error {
 public:
  static constexpr std::size_t kMostPrinted = 50;

  /// `total`: including problems that were not kept.
  ConfigError(std::vector<Problem> problems, std::size_t total);
  explicit ConfigError(Problem problem);
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::vector<Problem> problems_;
  std::size_t total_;
};

/// Collects the problems of one file (and of files it names) while reading continues.
class Problems {
 public:
  /// Further problems are only counted, to bound memory on hostile files.
  static constexpr std::size_t kMostKept = 10'000;

  explicit Problems(std::string file) : file_{std::move(file)} {}
  void note(Position at, std::string pointer, std::string message);
  /// Adds the problems of another file.
  void add(const ConfigError& other);
  /// Whether the next problem will be kept, so that composing its message is worthwhile.
  [[nodiscard]] bool keeps_more() const { return problems_.size() < kMostKept; }
  [[nodiscard]] bool any() const { return total_ != 0; }
  [[nodiscard]] const std::string& file() const { return file_; }
  /// Throws ConfigError with all problems in order of file, line and column, if there are any.
  void throw_if_any();

 private:
  std::string file_;
  std::vector<Problem> problems_;
  std::size_t total_ = 0;
};

}  // namespace lockstep
