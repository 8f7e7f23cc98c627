#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "sim/config/json/json.hpp"
#include "sim/config/json/memory_file.hpp"

namespace lockstep {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

[[noreturn]] void refuse(const std::string& file, std::string message) {
  throw ConfigError{Problem{file, {}, "", std::move(message)}};
}

std::string cannot_be_read(int error) {
  return fmt::format("cannot be read: {}", std::generic_category().message(error));
}

/// At most one byte more than a config may have.
std::string contents(const std::string& file) {
  const std::unique_ptr<std::FILE, CloseFile> opened{std::fopen(file.c_str(), "rb")};
  if (!opened) refuse(file, cannot_be_read(errno));
  std::string out;
  std::array<char, 65536> part{};
  while (out.size() <= kLargestJson) {
    const std::size_t got = std::fread(part.data(), 1, part.size(), opened.get());
    if (got == 0) break;
    out.append(part.data(), got);
  }
  if (std::ferror(opened.get()) != 0) refuse(file, cannot_be_read(errno));
  return out;
}

}  // namespace

JsonDocument read_json(const std::filesystem::path& path, JsonNumbers numbers) {
  const std::string file = path.string();
  if (const auto text = memory_file(path)) return parse_json(*text, file, numbers);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    refuse(file, "this is a directory; expected a JSON file");
  }
  if (!std::filesystem::exists(path, ignored)) refuse(file, "no such file");
  return parse_json(contents(file), file, numbers);
}

}  // namespace lockstep
