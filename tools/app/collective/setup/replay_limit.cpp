#include "tools/app/collective/setup/replay_limit.hpp"

#include <fmt/format.h>

#include "sim/symmetry/replay_memory.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

/// `fewer`: what else would make it smaller, after a comma.
[[noreturn]] void refuse(const ReplayMemory& memory, const StreamsToReplay& what,
                         std::string_view fewer, Bytes most) {
  throw RequestError(fmt::format(
      "{} on {} ranks: a replay needs some {:.3g} GiB of memory (about {:.3g} pairs of ranks send "
      "to each other, {:.3g} messages at once), the limit is {:.3g} GiB; use fewer ranks, an "
      "algorithm that sends less at once{}, or raise --max-memory of `{}`",
      what.name, what.ranks, static_cast<double>(memory.bytes.count()) / (1 << 30),
      static_cast<double>(memory.pairs), static_cast<double>(memory.posted),
      static_cast<double>(most.count()) / (1 << 30), fewer, what.command));
}

}  // namespace

void refuse_large_replay(const Network& network, const Workload& workload, NetworkModel model,
                         const FoldOptions& options, Bytes most) {
  refuse_large_replay(replay_memory(network, workload, model, options), workload, options.fold,
                      most);
}

void refuse_large_replay(const ReplayMemory& memory, const Workload& workload, bool folded,
                         Bytes most) {
  if (memory.bytes <= most) return;
  const CollectiveCall& call = workload.calls.front();
  refuse(memory, {call.name, call.members.size(), "lockstep collective"},
         folded ? "" : ", --fold auto", most);
}

void refuse_large_streams(const Network& network, const Workload& workload,
                          const StreamsToReplay& what, Bytes most) {
  const ReplayMemory memory = stream_memory(network, workload);
  if (memory.bytes > most) refuse(memory, what, "", most);
}

}  // namespace lockstep::app
