#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "strategies/step/bound/operation_bounds.hpp"

namespace lockstep {

/// A tensor, by its name in the routine, and a time.
struct TensorTime {
  TensorId tensor = 0;
  int further = 0;
  Duration time;
};

/// A tensor first read by communication on another stream, which may start before the compute
/// stream reaches the call.
struct Entry {
  TensorId tensor = 0;
  int further = 0;
  Duration until_end;  // from its availability to the end of the last computation
  /// To the write of the same tensor for another position; none if not written.
  struct Passing {
    int further = 0;
    Duration time;
  };
  std::optional<Passing> passing{};
};

/// A tensor that communication on another stream writes for a later call.
struct Exit {
  TensorId tensor = 0;
  int further = 0;
  Duration time;        // of that communication alone; once, if it writes several
  Duration until_made;  // from the compute stream free
};

/// Lower bounds on one call of a routine on a rank's compute stream. Times count from the end of
/// the stream's preceding work.
struct RoutineBound {
  /// To the end of the last operation on the compute stream. Includes communication on other
  /// streams that depends on computation of the same call.
  Duration path;
  Duration host;                 // host time to launch the call
  Duration host_to_computation;  // host time to launch up to the last computation
  Duration kernels;              // computation only
  bool computes = false;
  /// No messages and no dependencies on other calls except through the compute stream.
  bool is_plain = true;
  std::vector<Duration> times{};  // per operation
  /// Operations on other streams: earliest start; none without a predecessor in the same call.
  std::vector<std::optional<Duration>> begins{};
  /// From the availability of an external tensor to the end of the last computation.
  std::vector<TensorTime> after_reading{};
  std::vector<Entry> entries{};
  /// Tensors that all-to-alls of experts on another stream write, none of which computation of the
  /// same call waits for.
  std::vector<Exit> exits{};
  /// To the write of a tensor.
  std::vector<TensorTime> until_written{};

  /// None if the routine does not read (write) it.
  [[nodiscard]] const TensorTime* reads(TensorId tensor, int further) const;
  [[nodiscard]] const TensorTime* writes(TensorId tensor, int further) const;
};

/// Dependencies of a routine's operations within a call.
struct RoutineOrder {
  /// A read of a tensor written by another call.
  struct Outside {
    std::size_t operation = 0;
    Ref ref;
  };
  std::vector<std::vector<std::size_t>> before{};  // per operation
  std::vector<Outside> outside{};
};
[[nodiscard]] RoutineOrder order_of(const Routine& routine);

/// Whether both refer to the same tensor at the same position.
[[nodiscard]] bool is_same_instance(const Ref& a, const Ref& b);

/// Lower bounds on the times of collectives and of host work.
using CollectiveTime = std::function<Duration(const Operation&)>;
using HostTime = std::function<Duration(const Operation&)>;

[[nodiscard]] RoutineBound routine_bound(const Program& program, const Routine& routine,
                                         const CostModel& cost, const CollectiveTime& collective,
                                         const HostTime& on_host);

/// Longest chain of operations of a routine from the first reader of one tensor to the last writer
/// of another; zero if there is none. `bound`: of the same routine.
[[nodiscard]] Duration path_between(const Routine& routine, const RoutineBound& bound,
                                    const Ref& read, const Ref& written);

}  // namespace lockstep
