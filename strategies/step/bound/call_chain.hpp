#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep {

/// Lower bounds on the duration of one call (picoseconds), by start and end points.
struct CallTimes {
  std::int64_t path = 0;       // from compute stream free to compute stream free
  std::int64_t through = 0;    // from residual stream (or its gradient) in to out
  std::int64_t until_out = 0;  // from compute stream free to residual stream out
  std::int64_t from_in = 0;    // from residual stream in to compute stream free
  std::int64_t work = 0;       // on the compute stream, without waiting
  std::int64_t exchange = 0;   // all-to-alls of experts on their own stream, within the path

  void add(const CallTimes& other, std::int64_t times);
  /// Parts of the path that do not wait for the input; that may follow the output.
  [[nodiscard]] std::int64_t before_in() const {
    return std::max(path - from_in, until_out - through);
  }
  [[nodiscard]] std::int64_t after_out() const {
    return std::max(path - until_out, from_in - through);
  }

  friend bool operator==(const CallTimes&, const CallTimes&) = default;
};

/// Dependency order of a routine's operations, extracted once, from which the times of a call
/// follow. Equal to routine_bound().
class CallChain {
 public:
  /// `in`, `out`: incoming and outgoing residual stream; none at the ends of the chain of blocks,
  /// where times count from the start or to the end of the call.
  CallChain(const Routine& routine, const std::optional<Ref>& in, const std::optional<Ref>& out);

  /// `times`: per operation, picoseconds.
  [[nodiscard]] CallTimes times(const std::vector<std::int64_t>& times) const;

 private:
  using Places = std::vector<std::uint16_t>;

  [[nodiscard]] std::vector<std::int64_t> ends(const std::vector<std::int64_t>& times) const;
  /// From the start of each operation to the end of the last of its successors on the compute
  /// stream, or of one of them; -1 if it has none.
  [[nodiscard]] std::vector<std::int64_t> rest(const std::vector<std::int64_t>& times,
                                               std::optional<std::size_t> until) const;
  [[nodiscard]] static std::int64_t most(const std::vector<std::int64_t>& of, const Places& places);

  Places before_{};  // predecessors of all operations, concatenated
  Places ends_{};    // per operation: end of its range in `before_`
  std::vector<bool> computes_{};
  std::vector<bool> exchanges_{};               // all-to-alls of experts on another stream
  Places readers_{};                            // of the incoming stream
  Places writers_{};                            // of the outgoing stream, on the compute stream
  std::optional<std::uint16_t> last_writer_{};  // on any stream
  bool has_in_ = false;
  bool has_out_ = false;
};

}  // namespace lockstep
