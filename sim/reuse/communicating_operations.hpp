#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/schedule/workload.hpp"

namespace lockstep {

/// Which operations of streams communicate; found once for all streams of a pattern.
class CommunicatingOperations {
 public:
  /// Indices into `stream.all()`, ascending. Valid as long as the stream.
  [[nodiscard]] const std::vector<std::uint32_t>& of(const Stream& stream) {
    const std::vector<Activity>& operations = stream.all();
    const auto [found, is_new] = known_.try_emplace(operations.data());
    if (is_new)
      for (std::uint32_t i = 0; i < operations.size(); ++i)
        if (operations[i].kind != Activity::Kind::compute) found->second.push_back(i);
    return found->second;
  }

 private:
  std::unordered_map<const Activity*, std::vector<std::uint32_t>> known_;
};

}  // namespace lockstep
