#include "sim/engine/frontier_ends.hpp"

namespace lockstep::engine {

void FrontierEnds::push(TimePoint at, const Report& report) {
  std::uint32_t id = 0;
  if (spare_.empty()) {
    id = static_cast<std::uint32_t>(reports_.size());
    reports_.push_back(report);
  } else {
    id = spare_.back();
    spare_.pop_back();
    reports_[id] = report;
  }
  state_->queue.push(make_event(EventKind::external, id, at));
}

FrontierEnds::Report FrontierEnds::pop(std::uint32_t id) {
  spare_.push_back(id);
  return reports_[id];
}

}  // namespace lockstep::engine
