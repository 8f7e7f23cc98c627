#include "sim/network/transport.hpp"

#include "sim/base/check.hpp"

namespace lockstep {

std::vector<Transport::Transit> Transport::hand_over(TimePoint /*now*/) {
  throw InternalError{"this network model hands no transfers over"};
}

std::uint32_t Transport::take_over(const Transit& /*transit*/, const Route& /*route*/) {
  throw InternalError{"this network model takes no transfers over"};
}

}  // namespace lockstep
