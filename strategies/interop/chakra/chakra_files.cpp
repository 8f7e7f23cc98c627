#include "strategies/interop/chakra/chakra_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>

#include "sim/config/json/config_error.hpp"

namespace lockstep {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 5;

[[noreturn]] void refuse(const fs::path& path, std::string message) {
  throw ConfigError{Problem{path.string(), {}, "", std::move(message)}};
}

/// The parts of PREFIX.RANK.et.
struct Name {
  std::string prefix;
  int rank = 0;
  bool json = false;
};

std::optional<Name> taken_apart(const std::string& name) {
  const std::size_t last = name.rfind('.');
  if (last == std::string::npos || last == 0) return std::nullopt;
  const std::string kind = name.substr(last);
  const std::size_t dot = name.rfind('.', last - 1);
  if ((kind != ".et" && kind != ".json") || dot == std::string::npos || dot == 0)
    return std::nullopt;
  Name out{name.substr(0, dot), 0, kind == ".json"};
  const char* begin = name.data() + dot + 1;
  const char* end = name.data() + last;
  const auto [read_to, error] = std::from_chars(begin, end, out.rank);
  const bool canonical = error == std::errc{} && read_to == end && out.rank >= 0 &&
                         std::to_string(out.rank).size() == static_cast<std::size_t>(end - begin);
  return canonical ? std::optional{out} : std::nullopt;
}

using Sets = std::map<std::pair<std::string, bool>, std::vector<int>>;  // by prefix and form

/// Ranks by prefix and form of all traces in a folder, in order.
Sets sets_in(const fs::path& folder) {
  Sets out;
  std::error_code error;
  for (fs::directory_iterator each{folder, error}; !error && each != fs::directory_iterator{};
       each.increment(error))
    if (const auto name = taken_apart(each->path().filename().string()))
      out[{name->prefix, name->json}].push_back(name->rank);
  if (error) refuse(folder, fmt::format("cannot be read: {}", error.message()));
  for (auto& [key, ranks] : out) std::sort(ranks.begin(), ranks.end());
  return out;
}

std::string file_name(const std::string& prefix, int rank, bool json) {
  return fmt::format("{}.{}.{}", prefix, rank, json ? "json" : "et");
}

ChakraFiles complete(const fs::path& folder, const std::string& prefix, bool json,
                     const std::vector<int>& ranks) {
  ChakraFiles out{{}, json};
  for (const int rank : ranks) {
    const auto expected = static_cast<int>(out.files.size());
    if (rank != expected)
      refuse(folder / file_name(prefix, expected, json),
             fmt::format("no such file, but there is one for rank {}", ranks.back()));
    out.files.push_back(folder / file_name(prefix, rank, json));
  }
  return out;
}

ChakraFiles only_set_in(const fs::path& folder) {
  const Sets sets = sets_in(folder);
  if (sets.empty())
    refuse(folder, "no traces in this directory; expected files such as trace.0.et, trace.1.et");
  if (sets.size() > 1) {
    std::vector<std::string> names;
    for (const auto& [key, ranks] : sets)
      if (names.size() < kMostNamed)
        names.push_back(file_name(key.first, ranks.front(), key.second));
    refuse(folder, fmt::format("{} sets of traces in this directory, such as those of {}; name one "
                               "by what stands before its ranks",
                               sets.size(), fmt::join(names, ", ")));
  }
  const auto& [key, ranks] = *sets.begin();
  return complete(folder, key.first, key.second, ranks);
}

/// `any_form`: protobuf where there is such, else JSON.
ChakraFiles set_with_prefix(const fs::path& path, bool any_form, bool json) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  std::error_code ignored;
  const Sets sets = fs::is_directory(folder, ignored) ? sets_in(folder) : Sets{};
  const std::string prefix = path.filename().string();
  for (const bool form : {false, true}) {
    if (!any_form && form != json) continue;
    const auto found = sets.find({prefix, form});
    if (found != sets.end()) return complete(path.parent_path(), prefix, form, found->second);
  }
  refuse(path,
         fmt::format("no such file or directory, and no traces {}", file_name(prefix, 0, json)));
}

}  // namespace

ChakraFiles find_chakra_files(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return only_set_in(path);
  const auto name = taken_apart(path.filename().string());
  const bool exists = fs::exists(path, ignored);
  if (exists && !name) refuse(path, "the name of a trace ends in its rank, as in trace.0.et");
  if (exists) return set_with_prefix(path.parent_path() / name->prefix, false, name->json);
  return set_with_prefix(path, true, false);
}

}  // namespace lockstep
