#include "sim/config/json/file_contents.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "sim/config/json/config_error.hpp"

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

}  // namespace

std::string file_contents(const std::filesystem::path& path, std::string_view expected,
                          std::size_t most) {
  const std::string file = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    refuse(file, fmt::format("this is a directory; expected {}", expected));
  if (!std::filesystem::exists(path, ignored)) refuse(file, "no such file");
  const std::unique_ptr<std::FILE, CloseFile> opened{std::fopen(file.c_str(), "rb")};
  if (!opened) refuse(file, cannot_be_read(errno));
  std::string out;
  std::array<char, 65536> part{};
  while (out.size() <= most) {
    const std::size_t got = std::fread(part.data(), 1, part.size(), opened.get());
    if (got == 0) break;
    out.append(part.data(), got);
  }
  if (std::ferror(opened.get()) != 0) refuse(file, cannot_be_read(errno));
  return out;
}

}  // namespace lockstep
