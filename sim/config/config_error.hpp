#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"

/// What is wrong with a file that a user wrote, reported all at once with its place.
namespace lockstep {

/// A place in a text. Lines and columns count from 1; a column counts code points, not bytes, from
/// the line's start (a byte order mark counts nothing). Line 0: the file as a whole.
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

/// Every problem of a config. The text is
///   configs/dgx.json:14:20: error: /algorithm: no all-reduce named "rng"; did you mean "ring"?
///   1 error; nothing was run
/// with at most kMostPrinted problems printed.
class ConfigError : public Error {
 public:
  static constexpr std::size_t kMostPrinted = 50;

  /// `total` counts the problems that were not kept as well.
  ConfigError(std::vector<Problem> problems, std::size_t total);
  explicit ConfigError(Problem problem);
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::vector<Problem> problems_;
  std::size_t total_;
};

/// Collects the problems of one file (and of the files it names) while reading goes on.
class Problems {
 public:
  /// More than this are counted but not kept: a hostile file must not fill the memory.
  static constexpr std::size_t kMostKept = 10'000;

  explicit Problems(std::string file) : file_{std::move(file)} {}
  void note(Position at, std::string pointer, std::string message);
  /// Takes over what another file's reading threw.
  void add(const ConfigError& other);
  /// Whether the next problem is kept, so that its message is worth composing.
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
