#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"

/// Mixture of experts; see functions.hpp. A visit is a (token, chosen expert) pair; its slot is a
/// row of the experts' input, negative if the token is dropped.
namespace lockstep::kernels {

/// Maximum of a row and the sum of exp(x - maximum), returned to all lanes.
template <class Real>
struct RowWeights {
  Real most = nothing<Real>();
  Real sum = 0;
  template <class From, class Team>
  LOCKSTEP_BOTH RowWeights(const From& x, std::int64_t row, std::int64_t width, Team& team) {
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      const Real own = load<Real>(x, row * width + i);
      most = own > most ? own : most;
    }
    most = team.maximum(most);
    for (std::int64_t i = team.lane(); i < width; i += team.lanes()) {
      sum += std::exp(load<Real>(x, row * width + i) - most);
    }
    sum = team.sum(sum);
  }
  [[nodiscard]] LOCKSTEP_BOTH Real probability(Real x) const { return std::exp(x - most) / sum; }
};

/// [logits] -> [weights, experts], a team per row; -; experts, choices. Ties go to the lower expert
/// index.
template <class Real, class Args = Arguments>
struct Route {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t experts = a.size[0];
    const RowWeights<Real> of{a.in[0], row, experts, team};
    Real last = -nothing<Real>();
    std::int64_t last_expert = -1;
    for (std::int64_t choice = 0; choice < a.size[1]; ++choice) {
      Real best = nothing<Real>();
      std::int64_t expert = experts;
      for (std::int64_t i = team.lane(); i < experts; i += team.lanes()) {
        const Real x = load<Real>(a.in[0], row * experts + i);
        const bool is_left = x < last || (x == last && i > last_expert);
        if (!is_left || (expert < experts && !(x > best))) continue;
        best = x;
        expert = i;
      }
      last = team.maximum(best);
      // The lowest index among the experts with this logit.
      const bool has_it = expert < experts && best == last;
      last_expert = -static_cast<std::int64_t>(
          team.maximum(has_it ? -static_cast<Real>(expert) : -static_cast<Real>(experts)));
      if (team.lane() != 0) continue;
      put(a, 0, row * a.size[1] + choice, of.probability(last));
      put(a, 1, row * a.size[1] + choice, static_cast<Real>(last_expert));
    }
  }
};

/// [logits, weights, experts, g_weights] -> [g_logits], a team per row; -; experts, choices
template <class Real, class Args = Arguments>
struct RouteGradient {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t row, Team& team) const {
    const std::int64_t experts = a.size[0];
    const std::int64_t choices = a.size[1];
    const RowWeights<Real> of{a.in[0], row, experts, team};
    Real mean = 0;
    for (std::int64_t c = 0; c < choices; ++c) {
      const std::int64_t place = row * experts + chosen(row * choices + c);
      mean += of.probability(load<Real>(a.in[0], place)) * load<Real>(a.in[3], row * choices + c);
    }
    for (std::int64_t i = team.lane(); i < experts; i += team.lanes()) {
      Real g = -mean;
      for (std::int64_t c = 0; c < choices; ++c) {
        if (chosen(row * choices + c) == i) g += load<Real>(a.in[3], row * choices + c);
      }
      put(a, 0, row * experts + i, of.probability(load<Real>(a.in[0], row * experts + i)) * g);
    }
  }

 private:
  /// Clamped to the row, so that an invalid index reads nothing outside it.
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t chosen(std::int64_t visit) const {
    const auto expert = static_cast<std::int64_t>(load<Real>(a.in[2], visit) + Real{0.5});
    return expert < 0 ? 0 : expert < a.size[0] ? expert : a.size[0] - 1;
  }
};

/// [experts] -> [slot per visit], a team per expert, each lane handling a contiguous range of
/// visits; group per token; visits, choices, slots per expert, token groups, capacity per expert
/// and group. Slots are assigned in visit order.
template <class Real, class Args = Arguments>
struct AssignSlots {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t expert, Team& team) const {
    const std::int64_t length = (a.size[0] + team.lanes() - 1) / team.lanes();
    const std::int64_t first = team.lane() * length;
    const std::int64_t end = first + length < a.size[0] ? first + length : a.size[0];
    for (std::int64_t group = 0; group < a.size[3]; ++group) {
      number(
          team, first, end, [&](std::int64_t visit) { return is(visit, expert, group); },
          [&](std::int64_t visit, std::int64_t place) {
            store(a.out[0], visit, place < a.size[4] ? Real{0} : Real{-1});
          });
    }
    // Of those that were taken, which a lane has found out itself.
    const auto taken = [&](std::int64_t visit) {
      return chooses(visit, expert) && load<Real>(a.out[0], visit) == 0;
    };
    number(team, first, end, taken, [&](std::int64_t visit, std::int64_t place) {
      store(a.out[0], visit,
            place < a.size[2] ? static_cast<Real>(expert * a.size[2] + place) : Real{-1});
    });
  }

 private:
  [[nodiscard]] LOCKSTEP_BOTH bool chooses(std::int64_t visit, std::int64_t expert) const {
    return static_cast<std::int64_t>(load<Real>(a.in[0], visit) + Real{0.5}) == expert;
  }
  [[nodiscard]] LOCKSTEP_BOTH bool is(std::int64_t visit, std::int64_t expert,
                                      std::int64_t group) const {
    const bool own = a.table[0] == nullptr || a.table[0][visit / a.size[1]] == group;
    return own && chooses(visit, expert);
  }
  /// Calls take(visit, number of counted visits before it) for the lane's visits with
  /// counts(visit).
  template <class Team, class Counts, class Take>
  LOCKSTEP_BOTH void number(Team& team, std::int64_t first, std::int64_t end, const Counts& counts,
                            const Take& take) const {
    Real own = 0;
    for (std::int64_t visit = first; visit < end; ++visit) own += counts(visit) ? Real{1} : Real{0};
    team.scratch()[team.lane()] = own;
    team.wait();
    std::int64_t place = 0;
    for (std::int64_t lane = 0; lane < team.lane(); ++lane) {
      place += static_cast<std::int64_t>(team.scratch()[lane]);
    }
    for (std::int64_t visit = first; visit < end; ++visit) {
      if (counts(visit)) take(visit, place++);
    }
    team.wait();
  }
};

/// Slot of a visit; negative: none. Clamped to the existing slots.
template <class From>
[[nodiscard]] LOCKSTEP_BOTH inline std::int64_t slot_of(const From& slots, std::int64_t visit,
                                                        std::int64_t most) {
  const double slot = load<double>(slots, visit);
  return slot >= 0 && slot < static_cast<double>(most) ? static_cast<std::int64_t>(slot) : -1;
}

/// [x, slot per visit, (weights)] -> [slots], an index per element of a visit; -; width, choices,
/// slots, whether weighted. Slots without a visit keep their values.
template <class Real, class Args = Arguments>
struct SendToSlots {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t visit = i / a.size[0];
    const std::int64_t slot = slot_of(a.in[1], visit, a.size[2]);
    if (slot < 0) return;
    const std::int64_t from = visit / a.size[1] * a.size[0] + i % a.size[0];
    const Real weight = a.size[3] != 0 ? load<Real>(a.in[2], visit) : Real{1};
    put(a, 0, slot * a.size[0] + i % a.size[0], weight * load<Real>(a.in[0], from));
  }
};

/// [slots, slot per visit, (weights)] -> [y], an index per element of a token; -; width,
/// choices, slots, whether weighted
template <class Real, class Args = Arguments>
struct TakeFromSlots {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    Real sum = 0;
    for (std::int64_t choice = 0; choice < a.size[1]; ++choice) {
      const std::int64_t visit = i / a.size[0] * a.size[1] + choice;
      const std::int64_t slot = slot_of(a.in[1], visit, a.size[2]);
      if (slot < 0) continue;
      const Real weight = a.size[3] != 0 ? load<Real>(a.in[2], visit) : Real{1};
      sum += weight * load<Real>(a.in[0], slot * a.size[0] + i % a.size[0]);
    }
    put(a, 0, i, sum);
  }
};

/// [slots, slot per visit, g_y] -> [g_weights], a team per visit; -; width, choices, slots
template <class Real, class Args = Arguments>
struct WeightGradient {
  Args a;
  template <class Team>
  LOCKSTEP_BOTH void operator()(std::int64_t visit, Team& team) const {
    const std::int64_t width = a.size[0];
    const std::int64_t slot = slot_of(a.in[1], visit, a.size[2]);
    Real sum = 0;
    for (std::int64_t i = team.lane(); slot >= 0 && i < width; i += team.lanes()) {
      sum += load<Real>(a.in[2], visit / a.size[1] * width + i) *
             load<Real>(a.in[0], slot * width + i);
    }
    sum = team.sum(sum);
    if (team.lane() == 0) put(a, 0, visit, sum);
  }
};

}  // namespace lockstep::kernels
