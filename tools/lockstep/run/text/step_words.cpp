#include "tools/lockstep/run/text/step_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/program/kernel/attention_loads.hpp"
#include "strategies/sharding/experts/unequal_experts.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostRanges = 6;

std::string gigabytes(Rate rate) {
  return fmt::format("{:.4g}", rate.bytes_per_second() / 1e9);
}

std::string text_of(const MachineLinkUse::Path& path) {
  return fmt::format("{} GB/s after {}", gigabytes(path.rate), to_string(path.latency));
}

std::string measured_links(const MachineLinkUse& links) {
  const std::string slowest = gigabytes(links.slowest);
  const std::string fastest = gigabytes(links.fastest);
  return fmt::format(
      "NVLinks as measured, {} from GPU {} to GPU {} (else {}): the median of {} pair{}{}",
      text_of(links.now), links.from, links.to, text_of(links.before), links.pairs,
      links.pairs == 1 ? "" : "s",
      slowest == fastest ? "" : fmt::format(", of {} to {} GB/s", slowest, fastest));
}

}  // namespace

std::string call_words(const ReportedChoice& choice) {
  return fmt::format("{}: {} of {} bytes among {}", choice.group, to_string(choice.collective),
                     choice.message.count(), choice.members);
}

std::string algorithm_words(const ReportedChoice& choice) {
  return choice.algorithm +
         (choice.refused.empty() ? "" : ", as these ranks cannot have " + choice.refused);
}

std::string choice_words(const ReportedChoice& choice) {
  return call_words(choice) + " by " + algorithm_words(choice);
}

std::string text_of(const std::vector<std::pair<int, int>>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostRanges); ++i) {
    const auto [first, last] = ranges[i];
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (last > first) text += fmt::format("-{}", last);
  }
  return ranges.size() > kMostRanges ? text + ", ..." : text;
}

[[nodiscard]] bool weighs_traffic(const Program& program) {
  for (const Routine& routine : program.routines)
    for (const Operation& operation : routine.operations)
      if (operation.communication && operation.communication->traffic_weight != 1) return true;
  return false;
}

/// Whether attention over documents, or the load of experts, is unequal between ranks.
[[nodiscard]] bool loads_differ(const Program& program) {
  for (const Routine& routine : program.routines)
    for (const Operation& operation : routine.operations)
      if (const auto loads = AttentionLoads::of(program, operation); loads && loads->places() > 1)
        return true;
  return UnequalExperts::of(program).has_value();
}

std::string how_simulated(const SimulatedTrainingStep& step) {
  const int ranks = step.timeline.program->mesh.ranks();
  if (step.fidelity == Fidelity::representatives) {
    const std::size_t kinds =
        step.classes.empty() ? step.timeline.ranks.size() : step.classes.size();
    return fmt::format(
        "fidelity representatives: {} of {} ranks, one of each {}, traffic of different groups "
        "apart{}{} (--fidelity all: all ranks, if feasible)",
        kinds, ranks, step.classes.empty() ? "role" : "kind",
        weighs_traffic(*step.timeline.program) ? ", so traffic weights have no effect" : "",
        loads_differ(*step.timeline.program)
            ? "; ranks have unequal documents or experts: how they delay others is approximate"
            : "");
  }
  if (step.classes.empty()) return "every rank simulated";
  const std::size_t hosts =
      step.timeline.representative_of.size() - static_cast<std::size_t>(ranks);
  const std::string all =
      fmt::format("all {} ranks{}", ranks,
                  hosts == 0 ? "" : fmt::format(" and {} host{}", hosts, hosts == 1 ? "" : "s"));
  if (step.classes.size() > 1 && step.classes.size() == step.timeline.representative_of.size())
    return all + ", no two of them equivalent";
  return fmt::format("{}, folded into {} class{}", all, step.classes.size(),
                     step.classes.size() == 1 ? "" : "es");
}

std::string text_of(const FidelityCheck& check, int ranks) {
  return fmt::format("error of representatives: {:+.2f} % on {} ranks ({}, all ranks {})",
                     100 * check.relative_error(),
                     check.ranks == ranks ? fmt::format("the unchanged {}", ranks)
                                          : fmt::format("{} of {}", check.ranks, ranks),
                     to_string(check.representatives), to_string(check.all));
}

std::string text_of(const MachineLinkUse& links) {
  const std::string unchanged = "as the cluster has them: ";
  switch (links.kind) {
    case MachineLinkUse::Kind::host:
      return unchanged + "the calibration is of a host";
    case MachineLinkUse::Kind::other_device:
      return fmt::format("{}the calibration is of {}, not of {}", unchanged, links.measured_device,
                         links.device);
    case MachineLinkUse::Kind::one_gpu:
      return unchanged + "the calibration is of one GPU";
    case MachineLinkUse::Kind::no_nvlink:
      return unchanged + "no two GPUs of a node are joined by NVLink alone";
    case MachineLinkUse::Kind::measured:
      break;
  }
  return measured_links(links);
}

std::string kernel_words(const MachineLinkUse& links) {
  if (links.kind == MachineLinkUse::Kind::host) return {};
  const std::string measured =
      fmt::format("GEMMs and memory bandwidth as measured on {}", links.measured_device);
  if (links.kind != MachineLinkUse::Kind::other_device) return measured;
  return fmt::format("warning: {}, not on {}", measured, links.device);
}

}  // namespace lockstep::cli
