#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/attention_places.hpp"

/// Softmax of materialized scores; see functions.hpp.
namespace lockstep::kernels {

/// [scores] -> [probabilities], a team per row; positions of queries, positions of keys, first key
/// of the document of each sample's queries (none: all); keys, queries, whether causal, window as
/// in AttentionPlaces, rows of a sample
template <class Real, class Args = Arguments>
struct Softmax {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t keys = a.size[0];
    const std::int64_t token = a.at(0, row % a.size[1]);
    const std::int64_t begin =
        a.table[2] == nullptr ? 0 : a.table[2][row / a.size[4] * a.size[1] + row % a.size[1]];
    const auto sees = [&](std::int64_t t) {
      return a.size[2] == 0 || (is_visible(token, a.at(1, t), a.size[3]) && a.at(1, t) >= begin);
    };
    Real most = nothing<Real>();
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      const Real score = load<Real>(a.in[0], row * keys + t);
      if (sees(t) && score > most) most = score;
    }
    most = team.maximum(most);
    Real sum = 0;
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      if (sees(t)) sum += std::exp(load<Real>(a.in[0], row * keys + t) - most);
    }
    sum = team.sum(sum);
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      const Real own = sees(t) ? std::exp(load<Real>(a.in[0], row * keys + t) - most) : Real{0};
      put(a, 0, row * keys + t, own / sum);
    }
  }
};

/// [probabilities, g_probabilities] -> [g_scores], a team per row; -; keys
template <class Real, class Args = Arguments>
struct SoftmaxGradient {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t keys = a.size[0];
    Real mean = 0;
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      mean += load<Real>(a.in[0], row * keys + t) * load<Real>(a.in[1], row * keys + t);
    }
    mean = team.sum(mean);
    for (std::int64_t t = team.lane(); t < keys; t += team.lanes()) {
      const Real p = load<Real>(a.in[0], row * keys + t);
      put(a, 0, row * keys + t, p * (load<Real>(a.in[1], row * keys + t) - mean));
    }
  }
};

}  // namespace lockstep::kernels
