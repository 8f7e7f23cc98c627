#include "strategies/step/bound/call_chain.hpp"

#include "sim/base/check.hpp"
#include "strategies/step/bound/routine_bound.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kNone = -1;

[[nodiscard]] bool is_free(const Ref& ref) {
  return !ref.position && !ref.microbatch;
}

[[nodiscard]] bool is_named(const Ref& ref, const Ref& name) {
  return is_free(ref) && ref.tensor == name.tensor && ref.further == name.further;
}

[[nodiscard]] bool writes(const Operation& operation, const Ref& name) {
  return std::any_of(operation.writes.begin(), operation.writes.end(),
                     [&](const Ref& ref) { return is_named(ref, name); });
}

[[nodiscard]] bool writes_instance(const Operation& operation, const Ref& name) {
  return std::any_of(operation.writes.begin(), operation.writes.end(),
                     [&](const Ref& ref) { return is_same_instance(ref, name); });
}

}  // namespace

void CallTimes::add(const CallTimes& other, std::int64_t times) {
  path += other.path * times;
  through += other.through * times;
  until_out += other.until_out * times;
  from_in += other.from_in * times;
  work += other.work * times;
  exchange += other.exchange * times;
}

CallChain::CallChain(const Routine& routine, const std::optional<Ref>& in,
                     const std::optional<Ref>& out)
    : has_in_{in.has_value()}, has_out_{out.has_value()} {
  LOCKSTEP_CHECK(routine.operations.size() < UINT16_MAX);
  const auto place = [](std::size_t i) { return static_cast<std::uint16_t>(i); };
  const RoutineOrder order = order_of(routine);
  for (std::size_t i = 0; i < routine.operations.size(); ++i) {
    const Operation& operation = routine.operations[i];
    for (const std::size_t before : order.before[i]) before_.push_back(place(before));
    ends_.push_back(place(before_.size()));
    computes_.push_back(operation.stream == kComputeStream);
    exchanges_.push_back(!computes_[i] && operation.communication &&
                         operation.communication->group == "ep");
    if (out && computes_[i] && writes(operation, *out)) writers_.push_back(place(i));
    if (out && writes_instance(operation, *out)) last_writer_ = place(i);
  }
  if (!in) return;
  for (const RoutineOrder::Outside& read : order.outside)
    if (is_named(read.ref, *in)) readers_.push_back(place(read.operation));
}

std::vector<std::int64_t> CallChain::ends(const std::vector<std::int64_t>& times) const {
  std::vector<std::int64_t> out(times.size(), kNone);
  std::size_t first = 0;
  for (std::size_t i = 0; i < times.size(); first = ends_[i], ++i) {
    std::int64_t start = computes_[i] ? 0 : kNone;
    for (std::size_t k = first; k < ends_[i]; ++k) start = std::max(start, out[before_[k]]);
    if (start != kNone) out[i] = start + times[i];
  }
  return out;
}

std::vector<std::int64_t> CallChain::rest(const std::vector<std::int64_t>& times,
                                          std::optional<std::size_t> until) const {
  std::vector<std::int64_t> out(times.size(), kNone);
  for (std::size_t i = times.size(); i-- > 0;) {
    const bool ends = until ? i == *until : static_cast<bool>(computes_[i]);
    if (ends) out[i] = std::max<std::int64_t>(out[i], 0);
    if (out[i] == kNone) continue;
    out[i] += times[i];
    for (std::size_t k = i == 0 ? 0 : ends_[i - 1]; k < ends_[i]; ++k)
      out[before_[k]] = std::max(out[before_[k]], out[i]);
  }
  return out;
}

std::int64_t CallChain::most(const std::vector<std::int64_t>& of, const Places& places) {
  std::int64_t out = 0;
  for (const std::uint16_t place : places) out = std::max(out, of[place]);
  return out;
}

CallTimes CallChain::times(const std::vector<std::int64_t>& times) const {
  const std::vector<std::int64_t> ended = ends(times);
  CallTimes out;
  const std::vector<std::int64_t> left = rest(times, std::nullopt);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (computes_[i]) out.path = std::max(out.path, ended[i]);
    if (computes_[i]) out.work += times[i];
    if (exchanges_[i] && ended[i] != kNone && left[i] != kNone) out.exchange += times[i];
  }
  out.until_out = has_out_ ? most(ended, writers_) : out.path;
  out.from_in = has_in_ ? most(left, readers_) : out.path;
  if (!has_in_ || !has_out_) {
    out.through = std::min(out.until_out, out.from_in);
  } else if (last_writer_) {
    out.through = most(rest(times, *last_writer_), readers_);
  }
  return out;
}

}  // namespace lockstep
