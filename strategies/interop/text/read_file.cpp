#include "strategies/interop/text/read_file.hpp"

#include <fmt/format.h>

#include "sim/config/json/config_error.hpp"
#include "sim/config/json/file_contents.hpp"
#include "sim/config/json/memory_file.hpp"

namespace lockstep {

std::string read_file(const std::filesystem::path& path, std::string_view expected,
                      std::size_t most) {
  if (const auto text = memory_file(path)) return *text;
  std::string text = file_contents(path, expected, most);
  if (text.size() > most)
    throw ConfigError{
        Problem{path.string(), {}, "", fmt::format("larger than {} MiB", most >> 20U)}};
  return text;
}

}  // namespace lockstep
