#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/schedule/contract.hpp"
#include "sim/schedule/schedule.hpp"

/// Conversion of message sizes to elements and blocks, and of times to the bandwidths of
/// nccl-tests.
namespace lockstep {

/// Element types with the names and sizes of nccl-tests (NVIDIA nccl-tests, src/common.cu).
struct ElementType {
  std::string_view name;
  Bytes size;
};

[[nodiscard]] std::span<const ElementType> element_types();
/// By its name or that of its precision ("bf16"). Null if there is no such type.
[[nodiscard]] const ElementType* find_element_type(std::string_view name);

/// Division of a message into blocks. Every block is timed at full length, so that closed forms are
/// exact; the simulated message has `padded` bytes.
struct MessageLayout {
  std::int64_t count = 0;  // elements: floor(size / element)
  Bytes size;              // count elements, what the user counts as the message
  Bytes block;             // ceil(count / blocks) elements
  Bytes padded;            // blocks * block
};

[[nodiscard]] MessageLayout divide_message(Bytes size, const ElementType& type,
                                           std::int64_t blocks);

/// Counts from walking a schedule.
struct ScheduleMeasure {
  std::int64_t rounds = 0;       // maximum steps over ranks and lanes; with one lane, rounds
  std::int64_t sent_blocks = 0;  // maximum over the first `senders` ranks
  std::int64_t messages = 0;     // over all ranks
};

/// Walks every step of every rank, repeated phases once. Empty if this exceeds `most_visits`
/// messages and steps; then use a closed form. Without `senders`: all ranks.
[[nodiscard]] std::optional<ScheduleMeasure> measure(const Schedule& schedule,
                                                     std::int64_t most_visits = 50'000'000,
                                                     std::optional<int> senders = {});

/// A rank that represents `count` equivalent ranks.
struct RankMultiple {
  int representative = 0;
  std::int64_t ranks = 1;
};

/// The same from equivalence classes of ranks: walks only their representatives. A class consists
/// of senders only, or contains none.
[[nodiscard]] std::optional<ScheduleMeasure> measure(const Schedule& schedule,
                                                     std::span<const RankMultiple> classes,
                                                     std::int64_t most_visits, int senders);

/// GB/s (1e9 bytes) as in nccl-tests; none unless the time is positive.
[[nodiscard]] std::optional<double> algbw_gb_per_s(Bytes size, Duration time);
/// busbw = algbw * bus_factor: the bandwidth of a link in the bandwidth-optimal algorithm for n
/// ranks; a normalization, not the rate of any link (nccl-tests, doc/PERFORMANCE.md).
[[nodiscard]] double bus_factor(Collective collective, int n);

}  // namespace lockstep
