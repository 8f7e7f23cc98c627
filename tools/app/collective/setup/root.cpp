#include "tools/app/collective/setup/root.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tools/app/errors.hpp"

namespace lockstep::app {

int root_of(std::optional<int> given, std::span<const Collective> collectives) {
  if (!given || std::ranges::any_of(collectives, has_root)) return given.value_or(0);
  std::vector<std::string_view> names;
  for (const Collective each : collectives) names.push_back(to_string(each));
  throw RequestError("root",
                     fmt::format("{} {} no root; broadcast, reduce, scatter and gather have one",
                                 fmt::join(names, ", "), names.size() == 1 ? "has" : "have"));
}

int root_of(std::optional<int> given, Collective collective) {
  return root_of(given, std::span{&collective, 1});
}

void check_root(Collective collective, int root, int ranks) {
  if (!has_root(collective) || (root >= 0 && root < ranks)) return;
  throw RequestError("root", fmt::format("expected a rank from 0 to {}, got {}", ranks - 1, root));
}

}  // namespace lockstep::app
