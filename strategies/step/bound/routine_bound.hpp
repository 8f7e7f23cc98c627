#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "strategies/step/bound/operation_bounds.hpp"

namespace lockstep {

/// A tensor as a routine names it, and a time.
struct TensorTime {
  TensorId tensor = 0;
  int further = 0;
  Duration time;
};

/// What communication of another stream reads first of all in a call: it may begin before the
/// compute stream gets there.
struct Entry {
  TensorId tensor = 0;
  int further = 0;
  Duration until_end;  // from when it is there until the last computation ends
  /// Until the same tensor is written for another position; none where it is not.
  struct Passing {
    int further = 0;
    Duration time;
  };
  std::optional<Passing> passing{};
};

/// What one call of a routine takes at least on the compute stream of a rank. Times count from the
/// end of what the stream did before.
struct RoutineBound {
  /// Until the last operation of the compute stream ends. Communication of other streams counts
  /// where it follows computation of the same call.
  Duration path;
  Duration host;                 // to launch all of it
  Duration host_to_computation;  // likewise, up to the last computation
  Duration kernels;              // computation alone
  bool computes = false;
  /// No messages, nothing that waits for other calls in a way of its own.
  bool is_plain = true;
  std::vector<Duration> times{};  // of each operation
  /// Of operations of other streams: when they begin at the earliest; none where nothing of the
  /// same call comes before.
  std::vector<std::optional<Duration>> begins{};
  /// From when a tensor that others made is there until the last computation ends.
  std::vector<TensorTime> after_reading{};
  std::vector<Entry> entries{};
  /// Until a tensor is written.
  std::vector<TensorTime> until_written{};

  /// None where the routine does not read (write) it.
  [[nodiscard]] const TensorTime* reads(TensorId tensor, int further) const;
  [[nodiscard]] const TensorTime* writes(TensorId tensor, int further) const;
};

/// What the operations of a routine wait for within a call.
struct RoutineOrder {
  /// A read of what another call wrote.
  struct Outside {
    std::size_t operation = 0;
    Ref ref;
  };
  std::vector<std::vector<std::size_t>> before{};  // of each operation
  std::vector<Outside> outside{};
};
[[nodiscard]] RoutineOrder order_of(const Routine& routine);

/// Whether both are the same tensor of the same position.
[[nodiscard]] bool is_same_instance(const Ref& a, const Ref& b);

/// How long a collective takes at least; likewise what a host does.
using CollectiveTime = std::function<Duration(const Operation&)>;
using HostTime = std::function<Duration(const Operation&)>;

[[nodiscard]] RoutineBound routine_bound(const Program& program, const Routine& routine,
                                         const CostModel& cost, const CollectiveTime& collective,
                                         const HostTime& on_host);

/// The longest chain of operations of a routine from the first that reads one tensor to the last
/// that writes another. Zero without such a chain. `bound`: of the same routine.
[[nodiscard]] Duration path_between(const Routine& routine, const RoutineBound& bound,
                                    const Ref& read, const Ref& written);

}  // namespace lockstep
