#include "tools/app/jobs/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

std::vector<std::vector<EndpointId>> as_listed(const std::vector<std::vector<int>>& listed,
                                               const std::vector<int>& sizes, int gpus) {
  if (listed.size() != sizes.size())
    throw RequestError("place",
                       fmt::format("{} lists of GPUs for {} jobs", listed.size(), sizes.size()));
  std::vector<std::vector<EndpointId>> out;
  std::set<int> taken;
  for (std::size_t job = 0; job < sizes.size(); ++job) {
    if (listed[job].size() != static_cast<std::size_t>(sizes[job]))
      throw RequestError("place", fmt::format("{} GPUs for the {} ranks of job {}",
                                              listed[job].size(), sizes[job], job + 1));
    out.emplace_back();
    for (const int gpu : listed[job]) {
      if (gpu < 0 || gpu >= gpus)
        throw RequestError("place",
                           fmt::format("no GPU {}: the cluster has GPUs 0 to {}", gpu, gpus - 1));
      if (!taken.insert(gpu).second)
        throw RequestError("place", fmt::format("GPU {} is given twice", gpu));
      out.back().push_back(static_cast<EndpointId>(gpu));
    }
  }
  return out;
}

/// GPUs in blocks, to be dealt to jobs.
class Dealer {
 public:
  Dealer(const std::vector<int>& sizes, PlacementPolicy policy)
      : sizes_{sizes}, policy_{policy}, out_(sizes.size()) {}

  /// To the jobs of which `whose` says so, until they are full; what is left.
  template <class Whose>
  std::vector<std::vector<EndpointId>> deal(const std::vector<std::vector<EndpointId>>& blocks,
                                            Whose whose) {
    std::size_t next = 0;
    for (bool dealt = true; dealt;) {
      dealt = false;
      for (std::size_t job = 0; job < sizes_.size(); ++job) {
        while (whose(sizes_[job]) && out_[job].size() < static_cast<std::size_t>(sizes_[job])) {
          const auto& block = blocks[next++];
          out_[job].insert(out_[job].end(), block.begin(), block.end());
          dealt = true;
          if (policy_ == PlacementPolicy::spread) break;
        }
      }
    }
    return {blocks.begin() + static_cast<std::ptrdiff_t>(next), blocks.end()};
  }
  [[nodiscard]] const std::vector<std::vector<EndpointId>>& placed() const { return out_; }

 private:
  const std::vector<int>& sizes_;
  PlacementPolicy policy_;
  std::vector<std::vector<EndpointId>> out_;
};

/// Blocks of one GPU.
std::vector<std::vector<EndpointId>> single(const std::vector<std::vector<EndpointId>>& blocks) {
  std::vector<std::vector<EndpointId>> out;
  for (const auto& block : blocks)
    for (const EndpointId gpu : block) out.push_back({gpu});
  return out;
}

/// In a random order that is the same on every machine: std::shuffle is not.
void shuffle(std::vector<std::vector<EndpointId>>& blocks, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  for (std::size_t left = blocks.size(); left > 1; --left)
    std::swap(blocks[left - 1], blocks[random() % left]);
}

}  // namespace

std::vector<std::vector<EndpointId>> place_jobs(const PlacementRequest& request,
                                                const std::vector<int>& sizes,
                                                const Cluster& cluster) {
  const int needed = std::accumulate(sizes.begin(), sizes.end(), 0);
  if (needed > cluster.ranks())
    throw RequestError("gpus", fmt::format("the jobs have {} ranks, the cluster {} GPUs", needed,
                                           cluster.ranks()));
  if (request.policy == PlacementPolicy::listed)
    return as_listed(request.listed, sizes, cluster.ranks());
  const int node = cluster.gpus_per_node();
  std::vector<std::vector<EndpointId>> nodes;
  for (int gpu = 0; gpu < cluster.ranks(); ++gpu) {
    if (gpu % node == 0) nodes.emplace_back();
    nodes.back().push_back(static_cast<EndpointId>(gpu));
  }
  if (request.policy == PlacementPolicy::random) shuffle(nodes, request.seed);
  Dealer dealer{sizes, request.policy};
  const auto rest = dealer.deal(nodes, [node](int size) { return size % node == 0; });
  (void)dealer.deal(single(rest), [node](int size) { return size % node != 0; });
  return dealer.placed();
}

}  // namespace lockstep::app
