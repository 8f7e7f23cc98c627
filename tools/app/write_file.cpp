#include "tools/app/write_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

[[noreturn]] void give_up(const std::string& path, const std::string& beside, int error) {
  if (beside != path) std::remove(beside.c_str());
  throw IoError(fmt::format("cannot write {}: {}", path, std::generic_category().message(error)));
}

}  // namespace

std::string place_to_write(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  const bool replaceable =
      kind == std::filesystem::file_type::not_found || kind == std::filesystem::file_type::regular;
  return replaceable ? path + ".part" : path;
}

void check_writable(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) give_up(path, path, EISDIR);
  const std::string beside = place_to_write(path);
  if (beside == path) return;  // a device or a pipe: opening it may do something
  const bool was_there = std::filesystem::exists(beside);
  const std::ofstream out(beside, std::ios::binary | std::ios::app);
  if (!out) give_up(path, path, errno);
  if (!was_there) std::remove(beside.c_str());
}

void write_file(const std::string& path, const std::string& text) {
  const std::string beside = place_to_write(path);
  {
    std::ofstream out(beside, std::ios::binary);
    out << text;
    out.flush();
    if (!out) give_up(path, beside, errno);
  }
  if (beside != path && std::rename(beside.c_str(), path.c_str()) != 0) {
    give_up(path, beside, errno);
  }
}

}  // namespace lockstep::app
