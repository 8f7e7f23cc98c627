#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/execute/host/kernels/execution_error.hpp"
#include "sim/execute/host/kernels/kernels.hpp"
#include "sim/execute/host/program/exchange.hpp"
#include "sim/execute/host/program/initial_values.hpp"
#include "sim/program/communicator.hpp"
#include "sim/program/unroll.hpp"
#include "sim/schedule/schedule.hpp"

/// Runs a training step's program on real numbers, in float64, for every rank of its mesh and every
/// host: the very program that is simulated. It knows no time. Operations of different ranks and
/// streams are interleaved in an order drawn from a seed; only what the program orders is ordered.
namespace lockstep {

/// The schedule of a collective among `members`, a root that is a host standing last; null: it is
/// done by its meaning.
using ScheduleOf =
    std::function<std::shared_ptr<const Schedule>(const Communication& how, int members, int root)>;

struct ExecutionOptions {
  std::uint64_t seed = 1;        // of weights and data
  std::uint64_t order_seed = 1;  // of the interleaving
  OptimizerSettings optimizer{};
  SampleOf sample_of{};
  ScheduleOf schedule_of{};
  /// Changes what a role does before it is run: to show that a mistake is found.
  std::function<void(RoleProgram&)> revise{};
};

/// A weight, or a copy or shard of one, on one rank (hosts: ranks of the mesh + their number).
struct HeldWeight {
  int rank = 0;
  std::string name;  // of the weight, whatever the copy is called
  std::string copy;  // of what is held
  int position = 0;
  const PartLayout* layout = nullptr;
  std::vector<double>* values = nullptr;
};

class ProgramExecution {
 public:
  /// The program must outlive it. Errors: InternalError as unroll().
  explicit ProgramExecution(const Program& program, ExecutionOptions options = {});
  ~ProgramExecution();
  ProgramExecution(const ProgramExecution&) = delete;
  ProgramExecution& operator=(const ProgramExecution&) = delete;

  /// One training step; returns the loss. Errors: ExecutionError.
  double step();

  /// What ranks hold of weights between steps. Left out is what the next step overwrites before it
  /// reads it.
  [[nodiscard]] std::vector<HeldWeight> weights();

 private:
  struct Player;
  struct Meeting;
  struct Lane {
    std::size_t player = 0;
    std::size_t stream = 0;
  };
  using MessageKey = std::tuple<int, int, TensorInstance>;  // from, to, what

  void make_players();
  void plan_meetings(Player& player);
  void begin_step();
  void begin(Player& player);
  void run_all();
  [[nodiscard]] std::size_t sweep(bool patient);
  [[nodiscard]] bool advance(const Lane& lane);
  [[nodiscard]] bool run(Player& player, std::uint32_t index);
  void compute(Player& player, std::uint32_t index);
  [[nodiscard]] KernelCall<double> kernel_call(const Player& player, std::uint32_t index);
  [[nodiscard]] std::uint64_t draw_of(const RoleOperation& what) const;
  void arrive(Player& player, std::uint32_t index);
  void hold(Meeting& meeting);
  void check_agreement(const Meeting& meeting) const;
  [[nodiscard]] std::vector<std::vector<ExchangePart>> parts_of(const Meeting& meeting);
  void send(Player& player, std::uint32_t index);
  [[nodiscard]] bool receive(Player& player, std::uint32_t index);
  [[nodiscard]] MessageKey message_key(const Player& player, std::uint32_t index) const;
  [[nodiscard]] const PartLayout& layout(const Player& player, std::uint32_t index,
                                         std::uint32_t instance);
  [[nodiscard]] const std::vector<double>& value(const Player& player, std::uint32_t index,
                                                 std::uint32_t instance) const;
  void store(Player& player, std::uint32_t index, std::uint32_t instance,
             std::vector<double> values, bool add);
  [[nodiscard]] double loss() const;
  [[nodiscard]] std::string who(const Player& player, std::uint32_t index) const;
  [[noreturn]] void stuck() const;
  [[nodiscard]] std::string waits_for(const Player& player, std::uint32_t index) const;

  const Program& program_;
  ExecutionOptions options_;
  std::vector<RoleProgram> roles_{};
  std::map<TensorId, ProgramInput> inputs_{};
  LayoutTable layouts_;
  std::vector<std::unique_ptr<Player>> players_;
  std::vector<Lane> lanes_{};
  std::map<std::pair<std::vector<int>, std::size_t>, std::unique_ptr<Meeting>> meetings_;
  std::map<MessageKey, std::deque<std::vector<double>>> messages_{};
  std::uint64_t draws_ = 0;
  int step_ = 0;
};

/// Where two executions of one model differ most.
struct WeightDifference {
  double value = 0;
  HeldWeight where{};                  // in the first of them
  std::int64_t index = 0;              // in the whole tensor
  std::vector<std::string> missing{};  // weights of the reference of which elements are nowhere
  [[nodiscard]] std::string text() const;
};

/// Compares everything that `execution` holds of weights, on every rank, with the whole weights of
/// `reference`, an execution on one device. Errors: ExecutionError for a weight that the reference
/// has not.
[[nodiscard]] WeightDifference largest_difference(ProgramExecution& execution,
                                                  ProgramExecution& reference);

}  // namespace lockstep
