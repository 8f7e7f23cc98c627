#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>

#include "sim/execute/host/execute.hpp"
#include "sim/schedule/contract.hpp"

/// Does a schedule keep its contract? Whole numbers, so that sums are exact.
namespace lockstep::test {

inline constexpr std::int64_t kVerdictElements = 2;  // in a block

inline float contributed(int rank, std::int64_t block, std::int64_t element) {
  return static_cast<float>(1 + (rank * 31 + block * 7 + element * 3) % 97 + rank);
}

/// What a rank does not hold is NaN, and so shows wherever it is used.
inline HostMemory filled(const Schedule& schedule, const Contract& contract) {
  HostMemory memory;
  memory.block_elements = kVerdictElements;
  memory.ranks.resize(static_cast<std::size_t>(schedule.ranks()));
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    auto& data = memory.ranks[static_cast<std::size_t>(rank)].data;
    for (std::int64_t block = 0; block < schedule.blocks(); ++block) {
      for (std::int64_t i = 0; i < kVerdictElements; ++i) {
        data.push_back(contract.holds(rank, block) ? contributed(rank, block, i)
                                                   : std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
  return memory;
}

inline float wanted(const Contract& contract, const Expected& expected, std::int64_t element) {
  if (!expected.all_ranks) return contributed(expected.rank, expected.block, element);
  float sum = 0;
  for (int rank = 0; rank < contract.ranks; ++rank)
    sum += contributed(rank, expected.block, element);
  return sum;
}

/// Why not; empty where it does.
inline std::string problem_of(const Schedule& schedule, const Contract& contract,
                              const ExecuteOptions& options = {}) {
  HostMemory memory = filled(schedule, contract);
  const ExecuteOutcome outcome = execute(schedule, memory, options);
  if (!outcome.finished()) return outcome.problem;
  for (int rank = 0; rank < contract.ranks; ++rank) {
    const auto got = chunk_of(memory, schedule, rank, {contract.result, 0, contract.blocks});
    for (std::int64_t block = 0; block < contract.blocks; ++block) {
      const Expected expected = contract.expected(rank, block);
      if (expected.anything) continue;
      for (std::int64_t i = 0; i < kVerdictElements; ++i) {
        const float value = got[static_cast<std::size_t>(block * kVerdictElements + i)];
        const float right = wanted(contract, expected, i);
        if (value == right) continue;
        return fmt::format("rank {}, block {} holds {}, not {}", rank, block, value, right);
      }
    }
  }
  return {};
}

}  // namespace lockstep::test
