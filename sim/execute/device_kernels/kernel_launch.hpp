#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// Function of a kernel. For operands and parameters see functions.hpp.
enum class KernelFunction : std::uint8_t {
  fill,
  move,  // elements by index tables
  clear,
  gemm,             // matrices with constant strides
  gemm_by_element,  // matrices by index tables
  add_bias,
  sum_columns,  // of parts of the rows: a team per part and some columns
  add_parts,
  attention,  // a team per block of queries
  attention_query_gradient,
  attention_key_gradient,  // and that of values: a team per block of keys
  softmax,                 // a team per row
  softmax_gradient,
  normalise,  // a team per row
  normalise_input_gradient,
  normalise_gain_gradient,  // as sum_columns
  square_channels,          // as sum_columns
  channel_statistics,
  normalise_channels,
  normalise_channels_gradient,
  activate,
  activate_gradient,
  rotate,
  rotate_shared,
  drop,
  drop_gradient,
  add,
  look_up,
  look_up_gradient,
  loss_maximum,  // a team per row
  loss_sum,
  loss,  // one team
  loss_gradient,
  route,  // a team per row
  route_gradient,
  assign_slots,  // a team per expert
  send_to_slots,
  take_from_slots,
  weight_gradient,  // a team per visit
  gather_taps,
  sum_taps,
  pool_maximum,
  pool_maximum_gradient,
  pool_mean,
  pool_mean_gradient,
  shift_in_time,
  descend,  // one weight of an update
  on_host,  // KernelLaunch::on_host: the host computes it
};

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
