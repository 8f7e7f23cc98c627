#include "sim/network/network.hpp"
#include "sim/units.hpp"

using namespace lockstep::literals;

int main() {
  // 64 MiB over 50 GB/s: 67,108,864 B / 50e9 B/s = 1,342,177,280 ps.
  const lockstep::Duration time = 64_MiB / 50_GBps;
  return time == 1'342'177'280_ps ? 0 : 1;
}
