#include <algorithm>
#include <map>

#include "sim/base/check.hpp"
#include "sim/engine/streams.hpp"

namespace lockstep::engine {

/// Gives every stream its lists of dependents, one an operation, those of a pattern in common.
/// Returns the stream whose `after` fill them, per stream.
std::vector<std::uint32_t> Streams::place_lists() {
  std::map<const void*, std::uint32_t> first;    // stream of a pattern
  std::map<std::uint32_t, std::uint32_t> alike;  // streams that belong together, by their first
  std::vector<std::uint32_t> out;
  std::uint32_t lists = 0;
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    const Stream& stream = workload_->streams[s];
    streams_[s].first_stream = stream.first_stream;
    const std::uint32_t as =
        stream.pattern ? first.try_emplace(stream.pattern.get(), s).first->second : s;
    // Those that belong together follow the patterns of others that belong together.
    const std::uint32_t others = workload_->streams[as].first_stream;
    LOCKSTEP_CHECK(!stream.pattern ||
                   alike.try_emplace(stream.first_stream, others).first->second == others);
    out.push_back(as);
    if (as != s) {
      streams_[s].first_list = streams_[as].first_list;
      LOCKSTEP_CHECK(s - stream.first_stream == as - streams_[as].first_stream);
      continue;
    }
    streams_[s].first_list = lists;
    lists += static_cast<std::uint32_t>(stream.all().size());
  }
  first_dependent_.assign(lists + 1, 0);
  return out;
}

/// Who waits for whom: counted first, then put where the counts say.
void Streams::add_dependencies() {
  const std::vector<std::uint32_t> filled_by = place_lists();
  const auto fills = [&](std::uint32_t s) { return filled_by[s] == s; };
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    if (!fills(s)) continue;
    const Stream& stream = workload_->streams[s];
    for (const Activity& operation : stream.all())
      for (const ActivityRef& ref : operation.after) ++first_dependent_[list_of(ref, stream) + 1];
  }
  for (std::size_t i = 1; i < first_dependent_.size(); ++i)
    first_dependent_[i] += first_dependent_[i - 1];
  dependents_.resize(first_dependent_.back());
  std::vector<std::uint32_t> next{first_dependent_.begin(), first_dependent_.end() - 1};
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    if (!fills(s)) continue;
    const Stream& stream = workload_->streams[s];
    for (std::uint32_t i = 0; i < stream.all().size(); ++i)
      for (const ActivityRef& ref : stream.all()[i].after)
        dependents_[next[list_of(ref, stream)]++] = {s - stream.first_stream, i};
  }
}

/// Of what a stream waits for. Streams of patterns wait for each other alone.
std::uint32_t Streams::list_of(ActivityRef ref, const Stream& waiting) const {
  const auto [stream, index] = waiting.named(ref);
  LOCKSTEP_CHECK(stream < streams_.size());
  LOCKSTEP_CHECK(index < workload_->streams[stream].all().size());
  LOCKSTEP_CHECK(streams_[stream].first_stream == waiting.first_stream);
  return streams_[stream].first_list + index;
}

}  // namespace lockstep::engine
