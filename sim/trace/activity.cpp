#include "sim/trace/activity.hpp"

namespace lockstep {

std::string to_string(const Activity& activity) {
  switch (activity.kind) {
    case Activity::Kind::computation:
      return std::string{to_string(activity.of)};
    case Activity::Kind::communication:
      return activity.group + " communication";
    case Activity::Kind::bubble:
      return "bubble";
    case Activity::Kind::waiting:
      break;
  }
  return "waiting";
}

}  // namespace lockstep
