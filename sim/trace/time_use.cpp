#include "sim/trace/time_use.hpp"

namespace lockstep {

std::string to_string(const TimeUse& use) {
  switch (use.kind) {
    case TimeUse::Kind::computation:
      return std::string{to_string(use.of)};
    case TimeUse::Kind::communication:
      return use.group + " communication";
    case TimeUse::Kind::bubble:
      return "bubble";
    case TimeUse::Kind::issue:
      return "kernel launch overhead";
    case TimeUse::Kind::waiting:
      break;
  }
  return "waiting";
}

}  // namespace lockstep
