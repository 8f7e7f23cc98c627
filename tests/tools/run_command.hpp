#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Runs the real command as a user does: in a shell, at the root of the sources, with the freshly
/// built `lockstep` on the PATH.
namespace lockstep {

/// Sanitizers make the engine some thirty times slower: the longest cases are left to the others.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

struct CommandResult {
  int status = -1;  // the exit status; 128 + N where signal N ended it
  std::string out;
  std::string err;
};

/// `command` as typed: "lockstep list algorithms".
[[nodiscard]] CommandResult run_command(const std::string& command);

/// stdout of a command, which must succeed and be silent on stderr; else the test fails here.
[[nodiscard]] std::string output_of(const std::string& command);

/// The same with --format json added, parsed.
[[nodiscard]] nlohmann::ordered_json json_of(const std::string& command);

/// Its rows alone.
[[nodiscard]] nlohmann::ordered_json rows_of(const std::string& command);

/// A file that is gone when the test is over.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

[[nodiscard]] std::string text_of(const std::string& path);
[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);
[[nodiscard]] bool contains(const std::string& text, std::string_view part);

/// `text` with the first `from` in it replaced; the test fails where it is not there.
[[nodiscard]] std::string replaced(std::string text, std::string_view from, std::string_view to);

}  // namespace lockstep
