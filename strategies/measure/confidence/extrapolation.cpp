#include "strategies/measure/confidence/extrapolation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace lockstep {

namespace {

/// Beyond the largest or below the smallest that was checked by more than this is outside.
constexpr double kSlack = 1.25;

/// Counts in full, parameters in billions.
std::string count_text(double count) {
  constexpr double kBillion = 1e9;
  if (count < kBillion) return fmt::format("{:.0f}", count);
  return fmt::format("{:.4g} billion", count / kBillion);
}

std::string gbps_text(double rate) {
  return fmt::format("{:.4g} Gb/s", rate);
}

using Text = std::string (*)(double);

/// Validated runs that a property is compared with.
struct Runs {
  std::vector<const ValidatedRun*> of{};
  std::string which{};  // " with h100"; empty: all
};

class Outside {
 public:
  Outside(const RunKind& kind, const std::vector<ValidatedRun>& checked) : kind_{kind} {
    const std::string family = gpu_family(kind.gpu);
    for (const ValidatedRun& run : checked) {
      all_.of.push_back(&run);
      if (gpu_family(run.kind.gpu) == family) peers_.of.push_back(&run);
    }
    if (peers_.of.empty())
      peers_ = all_;
    else
      peers_.which = " with " + family;
    few_ = few_runs_of_model(kind, checked);
  }

  std::vector<ExtrapolatedProperty> find() {
    word("GPU", &RunKind::gpu);
    word("software stack", &RunKind::stack);
    word("model", &RunKind::model);
    few_runs();
    word("precision", &RunKind::precision);
    for (const auto& [property, value] : kind_.features) feature(property, value);
    number(all_, "GPUs", [](const RunKind& k) { return static_cast<double>(k.gpus); });
    node();
    const auto parameters = [](const RunKind& k) { return k.parameters; };
    const auto sequence = [](const RunKind& k) { return static_cast<double>(k.sequence); };
    number(all_, "parameters", parameters);
    at_least(all_, "parameters", parameters);
    number(all_, "tokens of a sequence", sequence);
    if (kind_.sequence > 1) at_least(all_, "tokens of a sequence", sequence);
    number(all_, "tensor parallelism", [](const RunKind& k) { return static_cast<double>(k.tp); });
    number(all_, "pipeline stages", [](const RunKind& k) { return static_cast<double>(k.pp); });
    number(all_, "context parallelism", [](const RunKind& k) { return static_cast<double>(k.cp); });
    number(all_, "expert parallelism", [](const RunKind& k) { return static_cast<double>(k.ep); });
    return std::move(out_);
  }

 private:
  void word(const char* property, std::string RunKind::*member) {
    std::set<std::string> there;
    for (const ValidatedRun* run : all_.of) there.insert(run->kind.*member);
    if (there.contains(kind_.*member)) return;
    out_.push_back({property, kind_.*member, fmt::format("{}", fmt::join(there, ", "))});
  }

  void few_runs() {
    if (few_.empty()) return;
    std::set<std::string> groups;
    for (const ValidatedRun& run : few_) groups.insert(run.group);
    out_.push_back({"model", kind_.model,
                    fmt::format("{} run{} of {} source{}", few_.size(), few_.size() > 1 ? "s" : "",
                                groups.size(), groups.size() > 1 ? "s" : "")});
  }

  void feature(const std::string& property, const std::string& value) {
    const Runs& runs = property == "fabric" ? peers_ : all_;
    std::set<std::string> there;
    for (const ValidatedRun* run : runs.of)
      for (const auto& [name, of] : run->kind.features)
        if (name == property) there.insert(of);
    if (there.contains(value)) return;
    const std::string known = there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "));
    out_.push_back({property, value, known + runs.which});
  }

  /// How many GPUs share a node, and its NICs. Of one node any number up to the largest.
  void node() {
    const auto per_node = [](const RunKind& k) { return static_cast<double>(k.gpus_per_node); };
    const auto nics = [](const RunKind& k) { return k.nic_gbps_per_gpu; };
    number(peers_, "GPUs per node", per_node);
    if (kind_.nodes == 1) return;
    const Runs several = with_nics();
    if (several.of.empty()) return;
    if (kind_.gpus_per_node > 1) at_least(several, "GPUs per node", per_node);
    if (kind_.nic_gbps_per_gpu <= 0) return;
    number(several, "NIC bandwidth per GPU", nics, gbps_text);
    at_least(several, "NIC bandwidth per GPU", nics, gbps_text);
  }

  /// Of the peers, those of several nodes on a fabric.
  [[nodiscard]] Runs with_nics() const {
    Runs out{{}, peers_.which};
    std::copy_if(peers_.of.begin(), peers_.of.end(), std::back_inserter(out.of),
                 [](const ValidatedRun* run) { return run->kind.nic_gbps_per_gpu > 0; });
    return out;
  }

  template <class Get>
  void number(const Runs& runs, const char* property, Get get, Text text = count_text) {
    double most = 0;
    for (const ValidatedRun* run : runs.of) most = std::max(most, get(run->kind));
    if (get(kind_) > most * kSlack)
      out_.push_back({property, text(get(kind_)), "up to " + text(most) + runs.which});
  }

  template <class Get>
  void at_least(const Runs& runs, const char* property, Get get, Text text = count_text) {
    double least = get(runs.of.front()->kind);
    for (const ValidatedRun* run : runs.of) least = std::min(least, get(run->kind));
    if (get(kind_) * kSlack < least)
      out_.push_back({property, text(get(kind_)), "from " + text(least) + " on" + runs.which});
  }

  const RunKind& kind_;
  Runs all_{};
  Runs peers_{};  // of this family of GPUs; all, where there are none of it
  std::vector<ValidatedRun> few_{};
  std::vector<ExtrapolatedProperty> out_{};
};

}  // namespace

std::string gpu_family(const std::string& gpu) {
  return gpu.substr(0, gpu.find('-'));
}

std::vector<ValidatedRun> few_runs_of_model(const RunKind& kind,
                                            const std::vector<ValidatedRun>& checked) {
  std::vector<ValidatedRun> out;
  for (const ValidatedRun& run : checked)
    if (run.kind.model == kind.model) out.push_back(run);
  if (out.size() >= kFewRuns) out.clear();
  return out;
}

std::vector<ExtrapolatedProperty> extrapolated_properties(
    const RunKind& kind, const std::vector<ValidatedRun>& checked) {
  return Outside{kind, checked}.find();
}

}  // namespace lockstep
