#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/execute/program/exchange.hpp"
#include "sim/execute/program/value_store.hpp"

namespace lockstep::execution {

/// How ranks of an execution meet in collectives, and send and receive. What a member brings is
/// copied when it comes.
template <class Real>
class Exchanges {
 public:
  /// `all_at_once`: nobody leaves a collective before everybody has come; else one may leave that
  /// has what it gets, such as the root of a broadcast.
  Exchanges(ExecutionState& state, const ExecutionOptions& options, ValueStore<Real>& values,
            bool all_at_once);

  void begin_step() { gatherings_.clear(); }

  /// A member comes, a message is sent; nothing for receives. Errors: ExecutionError.
  void begin(const RankCursor& cursor, std::uint32_t operation);
  /// False where what comes from others is not there. Errors: ExecutionError for parts that do not
  /// fit, with ranks and operations.
  [[nodiscard]] bool end(const RankCursor& cursor, std::uint32_t operation);

 private:
  using Parts = std::vector<std::vector<ExchangePart<Real>>>;  // per tensor and member

  struct Gathering {
    std::vector<std::vector<std::vector<Real>>> brought{};  // per member and tensor
    Parts results{};                                        // once all have come
    bool held = false;
    std::size_t left = 0;  // members that have gone
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
  std::map<const CollectiveInstance*, Gathering> gatherings_{};  // looked up, never gone through
  std::uint64_t draws_;                                          // of the order within schedules
};

}  // namespace lockstep::execution
