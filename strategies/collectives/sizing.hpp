#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/schedule/contract.hpp"
#include "sim/schedule/schedule.hpp"

/// From a message size in bytes to elements and blocks, and from a time to the bandwidths that
/// nccl-tests prints.
namespace lockstep {

/// Names and sizes as nccl-tests has them (NVIDIA nccl-tests, src/common.cu).
struct ElementType {
  std::string_view name;
  Bytes size;
};

[[nodiscard]] std::span<const ElementType> element_types();
/// Null if there is none of that name.
[[nodiscard]] const ElementType* find_element_type(std::string_view name);

/// How a message is cut. Every block is timed at full length, so that closed forms hold to the bit;
/// the message is then as long as `padded`.
struct MessageLayout {
  std::int64_t count = 0;  // elements: floor(size / element)
  Bytes size;              // count elements, what the user counts as the message
  Bytes block;             // ceil(count / blocks) elements
  Bytes padded;            // blocks * block
};

[[nodiscard]] MessageLayout divide_message(Bytes size, const ElementType& type,
                                           std::int64_t blocks);

/// What a schedule does, found by walking it.
struct ScheduleMeasure {
  std::int64_t rounds = 0;       // most steps of any rank and lane: with one lane, rounds
  std::int64_t sent_blocks = 0;  // most blocks that one of the first `senders` ranks sends
  std::int64_t messages = 0;     // messages of all ranks
};

/// Walks every step of every rank; a phase's steps once. Empty where that would take more than
/// `most_visits` messages and steps (then a closed form is the way). No `senders`: all ranks.
[[nodiscard]] std::optional<ScheduleMeasure> measure(const Schedule& schedule,
                                                     std::int64_t most_visits = 50'000'000,
                                                     std::optional<int> senders = {});

/// Ranks that do as much as each of so many.
struct RankMultiple {
  int representative = 0;
  std::int64_t ranks = 1;
};

/// The same by classes that hold every rank once: walks their representatives alone. A class has
/// senders only, or none.
[[nodiscard]] std::optional<ScheduleMeasure> measure(const Schedule& schedule,
                                                     std::span<const RankMultiple> classes,
                                                     std::int64_t most_visits, int senders);

/// GB/s (1e9 bytes) as nccl-tests reports them; none where the time is not above zero.
[[nodiscard]] std::optional<double> algbw_gb_per_s(Bytes size, Duration time);
/// busbw = algbw * bus_factor: what a wire would carry in the bandwidth-optimal algorithm for n
/// ranks; a normalisation, not a rate that some wire had (nccl-tests, doc/PERFORMANCE.md).
[[nodiscard]] double bus_factor(Collective collective, int n);

}  // namespace lockstep
