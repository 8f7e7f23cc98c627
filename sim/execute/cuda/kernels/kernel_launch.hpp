#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// What a kernel computes. Operands and figures by function: see functions.hpp.
enum class KernelFunction : std::uint8_t {
  fill,
  move,  // elements by tables of places
  clear,
  gemm,     // matrices that lie with constant strides
  product,  // matrices by tables of places
  add_bias,
  sum_rest,   // over all dimensions that the result has not
  attention,  // a team per query
  attention_query_gradient,
  attention_key_gradient,  // and that of values: a team per key
  softmax,                 // a team per row
  softmax_gradient,
  normalise,  // a team per row
  normalise_input_gradient,
  normalise_gain_gradient,  // a team per column
  activate,
  activate_gradient,
  rotate,
  drop,
  drop_gradient,
  add,
  look_up,
  look_up_gradient,
  loss_maximum,  // a team per row
  loss_sum,
  loss,  // one team
  loss_gradient,
  descend,  // one weight of an update
  on_host,  // KernelLaunch::on_host: the host computes it
};

/// One kernel, apart from where its operands lie. Plain data.
struct KernelLaunch {
  using Table = std::vector<std::int64_t>;
  /// Per operand its elements; `writes` come as they are held.
  using OnHost = std::function<void(const std::vector<std::vector<double>>& reads,
                                    std::vector<std::vector<double>>& writes)>;

  KernelFunction function = KernelFunction::fill;
  std::string name{};        // of the operation
  bool in_doubles = false;   // computes in float64, else in float32
  bool adds = false;         // to what the results hold
  std::int64_t count = 0;    // indices, or teams
  std::int64_t scratch = 0;  // numbers that a team keeps
  std::vector<std::int64_t> sizes{};
  std::vector<double> numbers{};
  std::vector<std::shared_ptr<const Table>> tables{};  // null: the index itself
  std::uint64_t draw = 0;
  OnHost on_host{};
};

}  // namespace lockstep
