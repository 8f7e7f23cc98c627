#include "tools/lockstep/write_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "tools/lockstep/errors.hpp"

namespace lockstep::cli {

namespace {

[[noreturn]] void give_up(const std::string& path, const std::string& beside, int error) {
  std::remove(beside.c_str());
  throw IoError(fmt::format("cannot write {}: {}", path, std::generic_category().message(error)));
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  {
    std::ofstream out(beside, std::ios::binary);
    out << text;
    out.flush();
    if (!out) give_up(path, beside, errno);
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) give_up(path, beside, errno);
}

}  // namespace lockstep::cli
