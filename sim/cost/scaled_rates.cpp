#include "sim/cost/scaled_rates.hpp"

#include <cmath>

namespace lockstep {
namespace {

Duration times(Duration of, double factor) {
  return Duration::picoseconds(std::llround(static_cast<double>(of.ps()) * factor));
}

}  // namespace

Duration ScaledRates::time(const Kernel& kernel) const {
  return times(of_->time(kernel), 1 / rates_.at(static_cast<std::size_t>(kernel.of)));
}

Duration ScaledRates::host_time(const Kernel& kernel) const {
  return times(of_->host_time(kernel), host_time_);
}

Basis ScaledRates::basis(const Kernel& kernel) const {
  const double rate = rates_.at(static_cast<std::size_t>(kernel.of));
  return rate == 1 ? of_->basis(kernel) : Basis{Provenance::assumed, "scaled rates of kernels"};
}

Basis ScaledRates::host_basis() const {
  return host_time_ == 1 ? of_->host_basis() : Basis{Provenance::assumed, "scaled host time"};
}

}  // namespace lockstep
