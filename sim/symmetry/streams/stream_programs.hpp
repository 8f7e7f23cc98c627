#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep::fold {

/// Endpoints with streams, and their operations one after the other.
struct Programs {
  static constexpr std::uint32_t kNoRank = UINT32_MAX;

  std::vector<EndpointId> endpoint;                    // per rank
  std::vector<std::uint32_t> rank_of;                  // per endpoint; kNoRank: it has no streams
  std::vector<std::vector<std::uint32_t>> streams;     // per rank
  std::vector<std::uint32_t> place;                    // per stream, among those of its rank
  std::vector<std::vector<ActivityRef>> operations;    // per rank
  std::vector<std::vector<std::uint32_t>> connection;  // per rank and operation, of its pair
  std::vector<std::int64_t> kind;                      // per rank: equal for equal programs

  Programs(const Network& network, const Workload& workload)
      : rank_of(network.endpoints.size(), kNoRank) {
    for (std::uint32_t s = 0; s < workload.streams.size(); ++s) {
      const Stream& stream = workload.streams[s];
      std::uint32_t& rank = rank_of[stream.endpoint];
      if (rank == kNoRank) {
        rank = static_cast<std::uint32_t>(endpoint.size());
        endpoint.push_back(stream.endpoint);
        streams.emplace_back();
        operations.emplace_back();
      }
      place.push_back(static_cast<std::uint32_t>(streams[rank].size()));
      streams[rank].push_back(s);
      for (std::uint32_t i = 0; i < stream.operations.size(); ++i)
        operations[rank].push_back({s, i});
    }
    for (const auto& own : operations) connection.emplace_back(own.size(), 0);
  }
};

}  // namespace lockstep::fold
