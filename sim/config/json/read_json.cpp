#include "sim/config/json/file_contents.hpp"
#include "sim/config/json/json.hpp"
#include "sim/config/json/memory_file.hpp"

namespace lockstep {

JsonDocument read_json(const std::filesystem::path& path, JsonNumbers numbers) {
  const std::string file = path.string();
  if (const auto text = memory_file(path)) return parse_json(*text, file, numbers);
  return parse_json(file_contents(path, "a JSON file", kLargestJson), file, numbers);
}

}  // namespace lockstep
