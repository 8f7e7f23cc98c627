#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tools/app/inputs/cluster_request.hpp"

namespace lockstep::test {

/// Draws that any standard library makes alike.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_{seed} {}
  /// In [least, most].
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(std::int64_t n) { return number(1, n) == 1; }
  template <typename List>
  const auto& of(const List& list) {
    return list[static_cast<std::size_t>(number(0, std::ssize(list) - 1))];
  }

 private:
  std::mt19937_64 random_;
};

/// A cluster file as text: 1 to 4 nodes of 1 to 4 GPUs each, deliberately unequal, with NICs of
/// their own or cabled straight to a switch, parallel cables, odd bandwidths and latencies.
[[nodiscard]] std::string random_graph(Draw& draw);

/// One of the shipped clusters at a random small size.
[[nodiscard]] app::ClusterRequest random_shipped(Draw& draw);

/// Up to three links or cables slowed, delayed or failed, by the names of the loaded cluster.
void fail_links(const Cluster& cluster, Draw& draw, app::ClusterRequest& options);

}  // namespace lockstep::test
