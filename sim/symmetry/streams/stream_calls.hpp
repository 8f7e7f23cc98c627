#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/reuse/key.hpp"
#include "sim/symmetry/partition/partition.hpp"
#include "sim/symmetry/quotient/quotient_schedule.hpp"
#include "sim/symmetry/streams/stream_programs.hpp"

namespace lockstep::fold {

/// Collectives that streams call, each once, when streams are folded.
///
/// Calls of equal schedules, sizes and members are of one kind, and each kind is one call among the
/// relations. Members of a class of such a call belong to ranks of one class, whose programs call
/// the same kinds in the same order; so the i-th calls of all kinds that are joined by common
/// classes are one call of the classes' streams.
class StreamCalls {
 public:
  /// Both must outlive it.
  StreamCalls(const Workload& workload, const Programs& programs)
      : workload_{workload}, programs_{programs} {}

  /// Finds the kinds. Why calls cannot be folded; empty: they can.
  [[nodiscard]] std::string find();
  /// What distinguishes a rank's calls from those of other ranks: kinds, their order and other
  /// facts.
  void add_key(std::uint32_t rank, KeyBuilder& key) const;
  /// One call of each kind.
  void add_kinds(Workload& messages) const;
  /// Joins kinds. `relations`: of a call of all ranks and those of add_kinds(). All must outlive
  /// the calls of classes.
  void fold(const Relations& relations, const Partition& partition, int channels);
  /// The calls of the classes' streams, at endpoints by class.
  [[nodiscard]] std::vector<CollectiveCall> of_classes() const;
  /// Makes a representative's call one of these.
  void address(Activity& of) const;
  /// Messages of all calls.
  [[nodiscard]] std::uint64_t transfers() const;
  /// From those of of_classes() the ends of the workload's calls.
  [[nodiscard]] std::vector<std::vector<TimePoint>> ends(
      const std::vector<std::vector<TimePoint>>& of_classes) const;

 private:
  struct Kind {
    std::vector<std::uint32_t> calls;
    std::uint32_t place = 0;  // in its first member's program, of the first call
    std::uint32_t joined = 0;
  };
  /// Kinds with common classes of members.
  struct Joined {
    std::vector<std::uint32_t> classes;  // of members, ascending
    std::uint32_t first_call = 0;        // of of_classes()
    std::uint32_t calls = 0;
    /// Of one of the classes.
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t c) const {
      return static_cast<std::uint32_t>(std::lower_bound(classes.begin(), classes.end(), c) -
                                        classes.begin());
    }
  };
  struct OwnCall {
    std::uint32_t place = 0;  // in the rank's program
    std::uint32_t call = 0;
    std::uint32_t turn = 0;  // among the rank's calls, in the order of the workload
  };

  [[nodiscard]] std::string find_calls();
  void find_kinds();
  [[nodiscard]] bool number_calls();
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t call, std::size_t member) const {
    return programs_.rank_of[workload_.calls[call].members[member]];
  }
  [[nodiscard]] std::uint32_t member_of(std::uint32_t call, std::uint32_t member) const {
    return relations_->first_member[kind_of_[call] + 1] + member;
  }
  [[nodiscard]] std::uint32_t slot(std::uint32_t call, std::uint32_t member) const;
  [[nodiscard]] CollectiveCall call_of_classes(const Joined& joined, std::uint32_t number) const;

  const Workload& workload_;
  const Programs& programs_;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> kind_of_;     // per call
  std::vector<std::uint32_t> number_;      // per call, among those of its kind
  std::vector<std::vector<OwnCall>> own_;  // per rank, by place
  const Relations* relations_ = nullptr;
  const Partition* partition_ = nullptr;
  int channels_ = 1;
  std::vector<Joined> joined_;
};

}  // namespace lockstep::fold
