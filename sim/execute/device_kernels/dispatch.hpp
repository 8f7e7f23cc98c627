#pragma once

#include "sim/execute/device_kernels/functions.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

namespace lockstep::kernels {

/// Passes the function of a launch to a runner: each(function) for functions of an index,
/// teams(function) for functions of a team. False if the launch has no device function (on_host).
template <class Real, class Runner>
bool dispatch(KernelFunction function, const Arguments& a, Runner& runner) {
  using F = KernelFunction;
  switch (function) {
    case F::fill:
      return runner.each(Fill<Real>{a});
    case F::move:
      return runner.each(Move<Real>{a});
    case F::clear:
      return runner.each(Clear<Real>{a});
    case F::gemm:
      return runner.each(Gemm<Real>{a});
    case F::gemm_by_element:
      return runner.each(GemmByElement<Real>{a});
    case F::add_bias:
      return runner.each(AddBias<Real>{a});
    case F::sum_columns:
      return runner.teams(SumColumns<Real>{a});
    case F::add_parts:
      return runner.each(AddParts<Real>{a});
    case F::attention:
      return runner.teams(Attention<Real>{a});
    case F::attention_query_gradient:
      return runner.teams(AttentionQueryGradient<Real>{a});
    case F::attention_key_gradient:
      return runner.teams(AttentionKeyGradient<Real>{a});
    case F::softmax:
      return runner.teams(Softmax<Real>{a});
    case F::softmax_gradient:
      return runner.teams(SoftmaxGradient<Real>{a});
    case F::normalise:
      return runner.teams(Normalise<Real>{a});
    case F::normalise_input_gradient:
      return runner.teams(NormaliseInputGradient<Real>{a});
    case F::normalise_gain_gradient:
      return runner.teams(NormaliseGainGradient<Real>{a});
    case F::square_channels:
      return runner.teams(SquareChannels<Real>{a});
    case F::channel_statistics:
      return runner.each(ChannelStatistics<Real>{a});
    case F::normalise_channels:
      return runner.each(NormaliseChannels<Real>{a});
    case F::normalise_channels_gradient:
      return runner.each(NormaliseChannelsGradient<Real>{a});
    case F::activate:
      return runner.each(Activate<Real>{a});
    case F::activate_gradient:
      return runner.each(ActivateGradient<Real>{a});
    case F::rotate:
      return runner.each(Rotate<Real>{a});
    case F::rotate_shared:
      return runner.each(RotateShared<Real>{a});
    case F::drop:
      return runner.each(Drop<Real>{a});
    case F::drop_gradient:
      return runner.each(DropGradient<Real>{a});
    case F::add:
      return runner.each(Add<Real>{a});
    case F::look_up:
      return runner.each(LookUp<Real>{a});
    case F::look_up_gradient:
      return runner.each(LookUpGradient<Real>{a});
    case F::loss_maximum:
      return runner.teams(LossMaximum<Real>{a});
    case F::loss_sum:
      return runner.teams(LossSum<Real>{a});
    case F::loss:
      return runner.teams(Loss<Real>{a});
    case F::loss_gradient:
      return runner.each(LossGradient<Real>{a});
    case F::route:
      return runner.teams(Route<Real>{a});
    case F::route_gradient:
      return runner.teams(RouteGradient<Real>{a});
    case F::assign_slots:
      return runner.teams(AssignSlots<Real>{a});
    case F::send_to_slots:
      return runner.each(SendToSlots<Real>{a});
    case F::take_from_slots:
      return runner.each(TakeFromSlots<Real>{a});
    case F::weight_gradient:
      return runner.teams(WeightGradient<Real>{a});
    case F::gather_taps:
      return runner.each(GatherTaps<Real>{a});
    case F::sum_taps:
      return runner.each(SumTaps<Real>{a});
    case F::pool_maximum:
      return runner.each(PoolMaximum<Real>{a});
    case F::pool_maximum_gradient:
      return runner.each(PoolMaximumGradient<Real>{a});
    case F::pool_mean:
      return runner.each(PoolMean<Real>{a});
    case F::pool_mean_gradient:
      return runner.each(PoolMeanGradient<Real>{a});
    case F::shift_in_time:
      return runner.each(ShiftInTime<Real>{a});
    case F::descend:
      return runner.each(Descend<Real>{a});
    default:
      return false;
  }
}

}  // namespace lockstep::kernels
