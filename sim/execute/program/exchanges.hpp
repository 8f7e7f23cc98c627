#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/execute/program/exchange.hpp"
#include "sim/execute/program/value_store.hpp"

namespace lockstep::execution {

/// Collectives, sends and receives between the ranks of an execution. Contributions are copied on
/// arrival.
template <class Real>
class Exchanges {
 public:
  /// `all_at_once`: members leave a collective only when all have arrived; otherwise as soon as
  /// their result is available, such as the root of a broadcast.
  Exchanges(ExecutionState& state, const ExecutionOptions& options, ValueStore<Real>& values,
            bool all_at_once);

  void begin_step() { gatherings_.clear(); }

  /// Arrives at a collective or sends a message; no effect for receives. Throws ExecutionError.
  void begin(const RankCursor& cursor, std::uint32_t operation);
  /// False if data from other ranks is missing. Throws ExecutionError naming ranks and operations
  /// for inconsistent parts.
  [[nodiscard]] bool end(const RankCursor& cursor, std::uint32_t operation);

 private:
  using Parts = std::vector<std::vector<ExchangePart<Real>>>;  // per tensor and member

  struct Gathering {
    std::vector<std::vector<std::vector<Real>>> brought{};  // per member and tensor
    Parts results{};                                        // once all have arrived
    bool held = false;
    std::size_t left = 0;  // members that have left
  };

  void come(const RankCursor& cursor, std::uint32_t operation);
  [[nodiscard]] bool leave(const RankCursor& cursor, std::uint32_t operation);
  [[nodiscard]] bool has_sources(const CollectiveInstance& collective_instance,
                                 const Communication& how, std::size_t member) const;
  void hold(const CollectiveInstance& collective_instance, Gathering& gathering);
  [[nodiscard]] std::shared_ptr<const Schedule> schedule_of(
      const CollectiveInstance& collective_instance) const;
  void exchange_all(const CollectiveInstance& collective_instance, Parts& parts);
  [[nodiscard]] Parts parts_of(const CollectiveInstance& collective_instance, Gathering& gathering);
  void check_agreement(const CollectiveInstance& collective_instance) const;
  void take(const RankCursor& cursor, std::uint32_t operation, Parts& parts, std::size_t member);
  [[nodiscard]] bool receive(const RankCursor& cursor, std::uint32_t operation);
  [[nodiscard]] const RoleOperation& operation_of(const CollectiveInstance& collective_instance,
                                                  std::size_t member) const;
  [[nodiscard]] std::string who(const CollectiveInstance& collective_instance,
                                std::size_t member) const;

  ExecutionState& state_;
  const ExecutionOptions& options_;
  ValueStore<Real>& values_;
  bool all_at_once_;
  std::map<const CollectiveInstance*, Gathering> gatherings_{};  // lookup only, never iterated
  std::uint64_t draws_;                                          // for the order within schedules
};

}  // namespace lockstep::execution
