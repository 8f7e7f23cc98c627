#include "tools/app/plan/store/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "tools/app/errors.hpp"
#include "tools/app/plan/store/store.hpp"
#include "tools/app/plan/store/tally.hpp"
#include "tools/app/write_file.hpp"

namespace lockstep::app {

namespace {

/// The points of several stores.
class Union {
 public:
  void add(const std::string& file, const StoreContents& store) {
    if (!identity_) {
      identity_ = store.identity;
    } else {
      check_same_search(*identity_, store.identity, file, "");
    }
    if (store.ranges.empty()) refuse_unfinished(file);
    for (const StoredRange& range : store.ranges) add_range(file, range);
    for (const SimulatedLayout& each : store.simulated) add_layout(file, each);
    for (const DroppedLayout& each : store.dropped) dropped_.emplace(each.index, each);
  }

  [[nodiscard]] const StoreIdentity& identity() const { return *identity_; }
  [[nodiscard]] std::vector<StoredRange> ranges() const { return values_of(ranges_); }
  [[nodiscard]] std::vector<SimulatedLayout> simulated() const { return values_of(simulated_); }
  [[nodiscard]] std::vector<DroppedLayout> dropped() const { return values_of(dropped_); }
  [[nodiscard]] std::uint64_t points() const {
    std::uint64_t out = 0;
    for (const auto& [begin, range] : ranges_) out += range.end - range.begin;
    return out;
  }

 private:
  template <class T>
  [[nodiscard]] static std::vector<T> values_of(const std::map<std::uint64_t, T>& of) {
    std::vector<T> out;
    out.reserve(of.size());
    for (const auto& [index, value] : of) out.push_back(value);
    return out;
  }

  [[noreturn]] static void refuse_unfinished(const std::string& file) {
    throw RequestError(
        fmt::format("{}: its search is not complete; `lockstep plan ... --resume` "
                    "continues it",
                    file));
  }

  void add_range(const std::string& file, const StoredRange& range) {
    if (!range.complete) refuse_unfinished(file);
    auto next = ranges_.upper_bound(range.begin);
    if (next != ranges_.begin() && std::prev(next)->second == range) return;
    const bool after = next != ranges_.end() && next->second.begin < range.end;
    const bool before = next != ranges_.begin() && std::prev(next)->second.end > range.begin;
    if (after || before)
      throw RequestError(
          fmt::format("{}: its points {} to {} overlap those of another store; "
                      "expected shards of one number",
                      file, range.begin, range.end - 1));
    if (range.end > range.begin) ranges_.emplace(range.begin, range);
  }

  void add_layout(const std::string& file, const SimulatedLayout& layout) {
    const auto [at, is_new] = simulated_.emplace(layout.index, layout);
    if (is_new || (at->second.step == layout.step && at->second.memory == layout.memory)) return;
    throw RequestError(
        fmt::format("{}: point {} takes another time than in another store", file, layout.index));
  }

  std::optional<StoreIdentity> identity_;
  std::map<std::uint64_t, StoredRange> ranges_;
  std::map<std::uint64_t, SimulatedLayout> simulated_;
  std::map<std::uint64_t, DroppedLayout> dropped_;
};

/// A file that is not a store of this search is not replaced.
void check_output(const std::string& output, const Union& all) {
  std::error_code ignored;
  if (!std::filesystem::exists(output, ignored)) return check_writable(output);
  check_same_search(all.identity(), read_store(output, "output").identity, output, "output");
}

void write_store(const MergeRequest& request, const Union& all, const PlanSpace& space,
                 const std::vector<std::unique_ptr<PlanSetting>>& settings,
                 const SearchOptions& options, const SearchResult& result) {
  const std::string beside = request.output + ".part";
  std::remove(beside.c_str());
  {
    const bool whole = all.points() == space.size();
    PlanStore store{beside, false,    all.identity(), whole ? "1/1" : "merged",
                    space,  settings, options.prices};
    for (const SimulatedLayout& each : result.all) store.add(each);
    store.finish(result, all.ranges());
  }
  if (std::rename(beside.c_str(), request.output.c_str()) != 0)
    throw IoError(fmt::format("cannot write {}", request.output));
}

}  // namespace

PlanResult merge_stores(const MergeRequest& request) {
  Union all;
  for (const std::string& file : request.files) all.add(file, read_store(file, ""));
  const StoreIdentity& identity = all.identity();
  if (identity.tool_version != request.tool_version)
    throw RequestError(fmt::format("{} was written by lockstep {}, not {}: its results may differ",
                                   request.files.front(), identity.tool_version,
                                   request.tool_version));
  if (!request.output.empty()) check_output(request.output, all);
  PlanSpace space = space_from(identity.space, request.files.front());
  if (space.hash() != identity.space_hash)
    throw RequestError(
        fmt::format("{} is damaged: its space has another hash", request.files.front()));
  PlanRequest plan = request_from(identity.options, request.files.front());
  plan.threads = request.threads;
  if (!plan.changes.options.empty()) plan.changes = request.read_changes(plan.changes.options);
  if (all.points() < space.size()) plan.merged_shards = true;
  const auto decide = [&](const PlanSpace& of,
                          const std::vector<std::unique_ptr<PlanSetting>>& settings,
                          const SearchOptions& options, const PlanRequest& /*request*/) {
    const std::string inputs = fmt::format("\"{}\"", inputs_hash(settings, plan.calibration));
    StoreIdentity now = identity;
    for (auto& [name, value] : now.options)
      if (name == "inputs") value = inputs;
    check_same_search(now, identity, request.files.front(), "");
    SearchResult result =
        tally(of, settings, options, all.ranges(), all.simulated(), all.dropped());
    if (!request.output.empty()) write_store(request, all, of, settings, options, result);
    return result;
  };
  return plan_space(std::move(space), plan, decide);
}

}  // namespace lockstep::app
