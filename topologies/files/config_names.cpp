#include "topologies/files/config_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "sim/config/complaint.hpp"
#include "sim/config/json/memory_file.hpp"
#include "sim/config/reader.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kShortestBeginning = 3;  // characters
constexpr std::size_t kFewNames = 8;           // all are listed

constexpr std::array<std::string_view, 8> kFolders{"devices", "clusters",   "models", "scenarios",
                                                   "stacks",  "precisions", "spaces", "campaigns"};

/// Calls each(folder, alias, id) for the aliases of configs/aliases.json.
template <class Each>
void read_aliases(ObjectReader& in, Each each) {
  for (const std::string_view folder : kFolders)
    if (const auto value = in.optional({folder, "Alias to file name without .json"}))
      value->object([&](ObjectReader& names) {
        for (const auto& [name, id] : names.all()) each(folder, name, id);
      });
}

bool begins(std::string_view name, std::string_view beginning) {
  return name.substr(0, beginning.size()) == beginning;
}

}  // namespace

ConfigNames::ConfigNames(const std::filesystem::path& configs, std::string_view folder)
    : folder_{configs / folder}, ids_{device_ids(folder_)} {
  const std::filesystem::path table = configs / "aliases.json";
  std::error_code ignored;
  if (!std::filesystem::exists(table, ignored)) return;
  const auto take = [&](std::string_view of, const std::string& name, const ValueReader& id) {
    const std::string target = id.string();
    if (of != folder) return;
    aliases_.push_back({name, target});
    if (!target.empty() && !std::binary_search(ids_.begin(), ids_.end(), target))
      id.note(complain_of_name(fmt::format("file in {}", of), target, {ids_.begin(), ids_.end()}));
  };
  (void)read_document(read_json(table), [&](ObjectReader& in) {
    read_aliases(in, take);
    return true;
  });
}

bool is_file_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.find(".json") != std::string_view::npos;
}

ExtendedFile extended_or_shipped(const std::filesystem::path& configs, std::string_view folder) {
  return
      [configs, of = std::string{folder}](const std::filesystem::path& own, std::string_view name) {
        const std::filesystem::path next = extended_next_to(own, name);
        if (configs.empty() || file_exists(next)) return next;
        const ConfigNames names{configs, of};
        const auto id = names.known(name);
        return id ? names.file_of(*id) : next;
      };
}

JsonValue aliases_schema() {
  return schema_of(
      "aliases",
      "Short names of shipped files by folder; each stands for a file name without .json.",
      [](ObjectReader& in) {
        read_aliases(in, [](std::string_view, const std::string&, const ValueReader& id) {
          (void)id.string();
        });
        return true;
      });
}

std::optional<std::string> ConfigNames::known(std::string_view name) const {
  if (std::find(ids_.begin(), ids_.end(), name) != ids_.end()) return std::string{name};
  const auto alias = std::find_if(aliases_.begin(), aliases_.end(),
                                  [name](const Alias& each) { return each.name == name; });
  return alias == aliases_.end() ? std::nullopt : std::optional{alias->id};
}

std::vector<std::string> ConfigNames::beginning_with(std::string_view name) const {
  std::vector<std::string> out;
  if (name.size() < kShortestBeginning) return out;
  for (const std::string& id : ids_)
    if (begins(id, name)) out.push_back(id);
  for (const Alias& alias : aliases_)
    if (begins(alias.name, name)) out.push_back(alias.id);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::optional<std::string> ConfigNames::meant(std::string_view name) const {
  if (auto id = known(name)) return id;
  std::vector<std::string> candidates = beginning_with(name);
  return candidates.size() == 1 ? std::optional{std::move(candidates.front())} : std::nullopt;
}

std::string ConfigNames::complaint(std::string_view noun, std::string_view name) const {
  const std::vector<std::string> candidates = beginning_with(name);
  if (candidates.size() > 1)
    return fmt::format("{} {} is ambiguous: {}", noun, in_quotes(name),
                       fmt::join(candidates, ", "));
  std::vector<std::string_view> names(ids_.begin(), ids_.end());
  const std::string near_ids = nearest_names(name, names);
  for (const Alias& alias : aliases_) names.push_back(alias.name);
  // Aliases are near enough to be meant, but not listed next to their ids.
  const std::string near = nearest_names(name, names);
  const std::string refusal = fmt::format("no {} named {}", noun, in_quotes(name));
  if (near.find("did you mean") != std::string::npos) return refusal + near;
  if (!near_ids.empty()) return refusal + near_ids;
  if (ids_.size() > kFewNames)
    return refusal + fmt::format("; `lockstep list {}` shows all {}", folder_.filename().string(),
                                 ids_.size());
  return complain_of_name(noun, name, {ids_.begin(), ids_.end()});
}

std::vector<std::string> ConfigNames::aliases_of(std::string_view id) const {
  std::vector<std::string> out;
  for (const Alias& alias : aliases_)
    if (alias.id == id) out.push_back(alias.name);
  return out;
}

}  // namespace lockstep
