#include "strategies/verification/verification_report.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lockstep {

std::string text_of(const VerifiedDifference& difference) {
  const std::string copy =
      difference.copy == difference.tensor ? "" : fmt::format(" ({})", difference.copy);
  return fmt::format("{}{} of block {} on {} differs by {:.3g} at element {}; {:.0e} is allowed",
                     difference.tensor, copy, difference.position, difference.holder,
                     difference.value, difference.element, difference.allowed);
}

bool VerificationReport::passed() const {
  return problem().empty();
}

std::string VerificationReport::problem() const {
  const std::string where = first_wrong.empty() ? "" : "; first wrong: " + first_wrong;
  if (!error.empty()) return error + where;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::abs(steps[i].loss - steps[i].reference) <= tolerance) continue;
    return fmt::format("the loss of step {} is {:.12g} where the reference has {:.12g}{}", i + 1,
                       steps[i].loss, steps[i].reference, where);
  }
  if (!weight.is_allowed()) return text_of(weight) + where;
  if (state && !state->is_allowed()) return text_of(*state) + where;
  return order ? order->problem : "";
}

}  // namespace lockstep
