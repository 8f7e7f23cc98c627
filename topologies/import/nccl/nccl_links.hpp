#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/config_error.hpp"
#include "topologies/import/nccl/nccl_xml.hpp"

namespace lockstep {

/// Links that GPUs tell to each other. GPUs are numbers.
class DirectLinks {
 public:
  struct Link {
    std::size_t from = 0;  // who told it first
    std::size_t to = 0;
    std::int64_t there = 0;  // links as that one tells them
    std::int64_t back = 0;   // as the other does; 0: not at all
    const NcclNvlink* told = nullptr;
  };
  /// GPUs of one group sit behind the same NVSwitches, each with so many links.
  struct Switched {
    std::size_t group = 0;  // its first GPU
    std::int64_t links = 0;
  };

  /// `link` must outlive this.
  void add(std::size_t from, std::size_t to, const NcclNvlink& link);
  /// Notes where both ends tell numbers that differ.
  void check_both_ends(Problems& problems) const;
  /// By GPU, of which each has `has` links: with more NVLinks than that to all others together
  /// there are NVSwitches between those that such links join, and each pair shows the links of a
  /// GPU. Nothing where links lead straight to the others.
  [[nodiscard]] std::vector<std::optional<Switched>> behind_switches(
      const std::vector<std::int64_t>& has) const;
  /// In order of both ends.
  [[nodiscard]] std::vector<Link> all() const;

 private:
  [[nodiscard]] std::vector<std::size_t> groups(std::size_t gpus) const;

  std::map<std::pair<std::size_t, std::size_t>, Link> links_;  // by both ends, the lower first
};

}  // namespace lockstep
