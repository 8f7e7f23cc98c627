#include "topologies/import/nccl/nccl_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lockstep {

void DirectLinks::add(std::size_t from, std::size_t to, const NcclNvlink& link) {
  Link& kept = links_[{std::min(from, to), std::max(from, to)}];
  if (kept.told == nullptr) kept = {from, to, 0, 0, &link};
  (kept.from == from ? kept.there : kept.back) += link.count;
  if (kept.from != from) kept.told = &link;
}

void DirectLinks::check_both_ends(Problems& problems) const {
  for (const auto& [ends, link] : links_) {
    if (link.back == 0 || link.back == link.there) continue;
    problems.note(
        link.told->at, "",
        fmt::format("count: expected {} as the other end says, got {}", link.there, link.back));
  }
}

std::vector<DirectLinks::Link> DirectLinks::all() const {
  std::vector<Link> out;
  for (const auto& [ends, link] : links_) out.push_back(link);
  return out;
}

std::vector<std::size_t> DirectLinks::groups(std::size_t gpus) const {
  std::vector<std::size_t> group(gpus);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) group[gpu] = gpu;
  const auto root = [&group](std::size_t gpu) {
    while (group[gpu] != gpu) gpu = group[gpu] = group[group[gpu]];
    return gpu;
  };
  for (const auto& [ends, link] : links_) {
    if (link.told->xgmi) continue;
    const auto [first, second] = std::minmax({root(ends.first), root(ends.second)});
    group[second] = first;
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) group[gpu] = root(gpu);
  return group;
}

std::vector<std::optional<DirectLinks::Switched>> DirectLinks::behind_switches(
    const std::vector<std::int64_t>& has) const {
  std::vector<std::int64_t> sums(has.size());
  std::vector<std::int64_t> most(has.size());
  for (const auto& [ends, link] : links_) {
    if (link.told->xgmi) continue;
    for (const std::size_t gpu : {ends.first, ends.second}) {
      sums[gpu] += link.there;
      most[gpu] = std::max(most[gpu], link.there);
    }
  }
  const std::vector<std::size_t> group = groups(has.size());
  std::set<std::size_t> switched;
  for (std::size_t gpu = 0; gpu < has.size(); ++gpu) {
    if (sums[gpu] > has[gpu]) switched.insert(group[gpu]);
  }
  std::vector<std::optional<Switched>> out(has.size());
  for (std::size_t gpu = 0; gpu < has.size(); ++gpu) {
    if (switched.count(group[gpu]) != 0) out[gpu] = Switched{group[gpu], most[gpu]};
  }
  return out;
}

}  // namespace lockstep
