#include "sim/cost/sustained.hpp"

#include "sim/cost/seconds.hpp"

namespace lockstep {

Duration SustainedRate::time(const Kernel& kernel) const {
  return rounded(kernel.flops / rate_.per_second());
}

}  // namespace lockstep
