#include "strategies/collectives/algorithm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lockstep {
namespace {

template <typename T>
std::optional<T> typed(const AlgorithmArguments& arguments, std::string_view name) {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return std::nullopt;
  return std::get<T>(found->second);
}

}  // namespace

std::string to_string(const ArgumentValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* sizes = std::get_if<std::vector<int>>(&value))
    return fmt::format("{}", fmt::join(*sizes, "x"));
  return std::get<std::string>(value);
}

std::optional<std::string> RankLayout::unequal_nodes() const {
  if (node_sizes.empty()) return std::nullopt;
  const auto [fewest, most] = std::minmax_element(node_sizes.begin(), node_sizes.end());
  return fmt::format("nodes have {} to {} ranks", *fewest, *most);
}

std::optional<std::int64_t> AlgorithmInput::number(std::string_view name) const {
  return typed<std::int64_t>(arguments, name);
}

std::optional<std::vector<int>> AlgorithmInput::dimensions(std::string_view name) const {
  return typed<std::vector<int>>(arguments, name);
}

std::optional<std::string> AlgorithmInput::text(std::string_view name) const {
  return typed<std::string>(arguments, name);
}

}  // namespace lockstep
