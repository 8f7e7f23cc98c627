#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Links selected by a user's name.
struct NamedLinks {
  std::string name;  // "a -> b", "a -- b", "rail0/leaf0"
  std::vector<LinkId> ids;
};

/// The links that a text names: "a -> b" (one direction), "a--b" (both), a vertex (all its links),
/// "node3" (all with an end in that node) or the first part of names, such as "rail0" (all links of
/// the switches "rail0/..."), in order of id. Throws LinkChangeError, with the
/// available ones, if there are none.
[[nodiscard]] NamedLinks links_named(const Cluster& cluster, std::string_view text);

}  // namespace lockstep
