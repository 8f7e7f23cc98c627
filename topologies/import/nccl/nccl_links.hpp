#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/json/config_error.hpp"
#include "topologies/import/nccl/nccl_xml.hpp"

namespace lockstep {

/// Links between GPUs as each of them reports. GPUs are identified by number.
class DirectLinks {
 public:
  struct Link {
    std::size_t from = 0;  // reported first by this one
    std::size_t to = 0;
    std::int64_t there = 0;  // number of links it reports
    std::int64_t back = 0;   // number the other one reports; 0: none
    const NcclNvlink* told = nullptr;
  };
  /// NVSwitch connection of a GPU: the group of GPUs that share the switches, and its link count.
  struct Switched {
    std::size_t group = 0;  // its first GPU
    std::int64_t links = 0;
  };

  /// `link` must outlive this object.
  void add(std::size_t from, std::size_t to, const NcclNvlink& link);
  /// Reports links whose ends disagree.
  void check_both_ends(Problems& problems) const;
  /// For GPUs with `has` links each: if a GPU reports more NVLinks to all others than that,
  /// NVSwitches connect the GPUs joined by such links, and each pair reports the links of a GPU.
  /// Empty for direct links.
  [[nodiscard]] std::vector<std::optional<Switched>> behind_switches(
      const std::vector<std::int64_t>& has) const;
  /// Ordered by both ends.
  [[nodiscard]] std::vector<Link> all() const;

 private:
  [[nodiscard]] std::vector<std::size_t> groups(std::size_t gpus) const;

  std::map<std::pair<std::size_t, std::size_t>, Link> links_;  // by both ends, the lower first
};

}  // namespace lockstep
