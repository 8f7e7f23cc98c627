#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep {

/// What one call takes at least (picoseconds), by where it begins and ends.
struct CallTimes {
  std::int64_t path = 0;  // from when the compute stream is free until it is free again
  std::int64_t through =
      0;  // from the residual stream (or its gradient) coming in to its going out
  std::int64_t until_out = 0;  // from when the compute stream is free until it goes out
  std::int64_t from_in = 0;    // from its coming in until the compute stream is free again

  void add(const CallTimes& other, std::int64_t times);
  /// Of the path, what need not wait for what comes in; what may follow what goes out.
  [[nodiscard]] std::int64_t before_in() const {
    return std::max(path - from_in, until_out - through);
  }
  [[nodiscard]] std::int64_t after_out() const {
    return std::max(path - until_out, from_in - through);
  }

  friend bool operator==(const CallTimes&, const CallTimes&) = default;
};

/// The order of a routine's operations, so that its times follow from those of its operations
/// without looking at the routine again. The same times as of routine_bound().
class CallChain {
 public:
  /// `in`, `out`: the residual stream as it comes in and goes out; none at the ends of the chain of
  /// blocks, where all of the call counts from its begin, or to its end.
  CallChain(const Routine& routine, const std::optional<Ref>& in, const std::optional<Ref>& out);

  /// `times`: of each operation, picoseconds.
  [[nodiscard]] CallTimes times(const std::vector<std::int64_t>& times) const;

 private:
  using Places = std::vector<std::uint16_t>;

  [[nodiscard]] std::vector<std::int64_t> ends(const std::vector<std::int64_t>& times) const;
  /// From the start of each operation until the last of those that follow it has ended, among
  /// operations of the compute stream, or until one of them; -1 where none follows.
  [[nodiscard]] std::vector<std::int64_t> rest(const std::vector<std::int64_t>& times,
                                               std::optional<std::size_t> until) const;
  [[nodiscard]] static std::int64_t most(const std::vector<std::int64_t>& of, const Places& places);

  Places before_{};  // of all operations, one after the other
  Places ends_{};    // in `before_`, of each operation
  std::vector<bool> computes_{};
  Places readers_{};                            // of what comes in
  Places writers_{};                            // of what goes out, on the compute stream
  std::optional<std::uint16_t> last_writer_{};  // on any stream
  bool has_in_ = false;
  bool has_out_ = false;
};

}  // namespace lockstep
