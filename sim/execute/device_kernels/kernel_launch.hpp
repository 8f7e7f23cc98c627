#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// Every function of a kernel with its type in *_functions.hpp, where operands and parameters are
/// described: EACH are functions of an index, TEAMS of a work item and a team of threads.
#define LOCKSTEP_KERNEL_FUNCTIONS(EACH, TEAMS)                 \
  EACH(fill, Fill)                                             \
  EACH(move, Move)                                             \
  EACH(clear, Clear)                                           \
  EACH(gemm, Gemm)                                             \
  EACH(gemm_by_element, GemmByElement)                         \
  EACH(add_bias, AddBias)                                      \
  TEAMS(sum_columns, SumColumns)                               \
  EACH(add_parts, AddParts)                                    \
  TEAMS(attention, Attention)                                  \
  TEAMS(attention_query_gradient, AttentionQueryGradient)      \
  TEAMS(attention_key_gradient, AttentionKeyGradient)          \
  TEAMS(attention_sink_gradient, AttentionSinkGradient)        \
  TEAMS(softmax, Softmax)                                      \
  TEAMS(softmax_gradient, SoftmaxGradient)                     \
  TEAMS(normalise, Normalise)                                  \
  TEAMS(normalise_input_gradient, NormaliseInputGradient)      \
  TEAMS(normalise_gain_gradient, NormaliseGainGradient)        \
  TEAMS(square_channels, SquareChannels)                       \
  EACH(channel_statistics, ChannelStatistics)                  \
  EACH(normalise_channels, NormaliseChannels)                  \
  EACH(normalise_channels_gradient, NormaliseChannelsGradient) \
  EACH(activate, Activate)                                     \
  EACH(activate_gradient, ActivateGradient)                    \
  TEAMS(activation_weight_gradient, ActivationWeightGradient)  \
  EACH(rotate, Rotate)                                         \
  EACH(rotate_shared, RotateShared)                            \
  EACH(drop, Drop)                                             \
  EACH(drop_gradient, DropGradient)                            \
  EACH(add, Add)                                               \
  EACH(modulate, Modulate)                                     \
  EACH(modulation_gradient, ModulationGradient)                \
  EACH(look_up, LookUp)                                        \
  EACH(look_up_gradient, LookUpGradient)                       \
  TEAMS(loss_maximum, LossMaximum)                             \
  TEAMS(loss_sum, LossSum)                                     \
  TEAMS(loss, Loss)                                            \
  EACH(loss_gradient, LossGradient)                            \
  TEAMS(squared_error, SquaredError)                           \
  EACH(squared_error_gradient, SquaredErrorGradient)           \
  TEAMS(route, Route)                                          \
  TEAMS(route_gradient, RouteGradient)                         \
  TEAMS(assign_slots, AssignSlots)                             \
  EACH(send_to_slots, SendToSlots)                             \
  EACH(take_from_slots, TakeFromSlots)                         \
  TEAMS(weight_gradient, WeightGradient)                       \
  EACH(gather_taps, GatherTaps)                                \
  EACH(sum_taps, SumTaps)                                      \
  EACH(pool_maximum, PoolMaximum)                              \
  EACH(pool_maximum_gradient, PoolMaximumGradient)             \
  EACH(pool_mean, PoolMean)                                    \
  EACH(pool_mean_gradient, PoolMeanGradient)                   \
  EACH(shift_in_time, ShiftInTime)                             \
  EACH(descend, Descend)

#define LOCKSTEP_NAME_OF(name, Type) name,
/// Function of a kernel. `on_host`: KernelLaunch::on_host, which the host computes.
enum class KernelFunction : std::uint8_t {
  LOCKSTEP_KERNEL_FUNCTIONS(LOCKSTEP_NAME_OF, LOCKSTEP_NAME_OF) on_host,
};
#undef LOCKSTEP_NAME_OF

/// Threads per team on a GPU, and the maximum; on a host a team has one.
inline constexpr std::int64_t kTeamLanes = 128;

/// One kernel without the location of its operands. Plain data.
struct KernelLaunch {
  using Table = std::vector<std::int64_t>;
  /// Elements per operand; `writes` contain their current values.
  using OnHost = std::function<void(const std::vector<std::vector<double>>& reads,
                                    std::vector<std::vector<double>>& writes)>;

  KernelFunction function = KernelFunction::fill;
  std::string name{};        // of the operation
  bool in_doubles = false;   // computes in float64, else float32
  std::uint32_t adds = 0;    // bit i: accumulate into result i
  std::int64_t count = 0;    // indices, or teams
  std::int64_t scratch = 0;  // elements per team
  std::vector<std::int64_t> sizes{};
  std::vector<double> numbers{};
  std::vector<std::shared_ptr<const Table>> tables{};  // null: the index itself
  std::uint64_t draw = 0;
  OnHost on_host{};
};

}  // namespace lockstep
