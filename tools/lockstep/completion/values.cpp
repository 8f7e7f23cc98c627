#include "tools/lockstep/completion/values.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "sim/config/json/config_error.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/plan/metric.hpp"
#include "tools/lockstep/collective/collective_figure.hpp"
#include "tools/lockstep/completion/scenario_keys.hpp"
#include "tools/lockstep/help/words.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/run/run_figures.hpp"
#include "topologies/builders/registry.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep::cli {

namespace {

using Arguments = std::vector<std::string>;

/// The names of the files in a folder of the configs; none if it cannot be read.
Completions shipped(const std::string& folder) {
  Completions out;
  try {
    for (const std::string& id : device_ids(config_folder() + "/" + folder)) out.add(id);
  } catch (const Error&) {
    out.words.clear();
  }
  return out;
}

Completions shipped_or_file(const std::string& folder) {
  Completions out = shipped(folder);
  out.files = true;
  return out;
}

template <class Names>
Completions words(const Names& names) {
  Completions out;
  for (const auto& name : names) out.add(std::string{name});
  return out;
}

/// Of the collectives named in `arguments`, else of all; each name once.
Completions algorithms(const Arguments& arguments) {
  Completions out;
  const auto asked = [&](Collective collective) {
    if (arguments.empty() || arguments.back() == "all") return true;
    const std::string text = "," + arguments.back() + ",";
    return text.find("," + std::string{to_string(collective)} + ",") != std::string::npos;
  };
  for (const CollectiveAlgorithm& each : collective_algorithms()) {
    const bool known = std::any_of(out.words.begin(), out.words.end(),
                                   [&](const Completion& word) { return word.word == each.name; });
    if (asked(each.collective) && !known)
      out.add(std::string{each.name}, std::string{each.summary});
  }
  return out;
}

Completions algorithms_and_choices(const Arguments& arguments) {
  Completions out = algorithms(arguments);
  out.add("all", "every algorithm");
  out.add("auto", "the fastest one of each size");
  out.add("auto:by=nccl", "NCCL's choice for each size");
  out.add("auto:by=nccl,windows=symmetric", "NCCL's choice with registered buffers");
  return out;
}

Completions element_type_names() {
  Completions out;
  for (const ElementType& type : element_types()) out.add(std::string{type.name});
  return out;
}

Completions fabrics() {
  Completions out;
  for (const Builder& builder : topology_builders())
    if (builder.is_fabric()) out.add(std::string{builder.name}, std::string{builder.summary});
  return out;
}

/// "memory=": the file follows.
Completions figures_before_files(const std::vector<std::string>& kinds) {
  Completions out;
  for (const std::string& kind : kinds) out.add(kind + "=");
  return out;
}

/// Columns and concepts; "-" stands for spaces. None that a shell would take for a quotation.
Completions help_words() {
  Completions out;
  for (const WordTopic& topic : word_topics())
    for (const Word& word : topic.words) {
      std::string name{word.name};
      if (name.find('\'') != std::string::npos) continue;
      std::replace(name.begin(), name.end(), ' ', '-');
      out.add(name, std::string{topic.name});
    }
  return out;
}

/// The entries of the list that `list` was asked for; else collectives.
Completions collectives_or_entries(const Arguments& arguments) {
  if (arguments.empty() || arguments.front() == "algorithms") return words(kCollectiveNames);
  constexpr std::array<std::string_view, 6> kFolders = {"devices",   "clusters", "models",
                                                        "scenarios", "stacks",   "precisions"};
  const bool known =
      std::find(kFolders.begin(), kFolders.end(), arguments.front()) != kFolders.end();
  return known ? shipped(arguments.front()) : Completions{};
}

/// What `plan` compares layouts by.
Completions metric_names() {
  Completions out;
  for (const app::MetricInfo& info : app::plan_metrics()) out.add(std::string{info.name});
  return out;
}

/// Where the values of an option or positional argument of this name come from.
struct Source {
  std::string_view name;
  std::function<Completions(const Arguments&)> values;
  std::string_view type = {};  // of the option that is meant; empty: any
};

const std::vector<Source>& sources() {
  const auto from = [](const std::string& folder) {
    return [folder](const Arguments&) { return shipped(folder); };
  };
  const auto or_file = [](const std::string& folder) {
    return [folder](const Arguments&) { return shipped_or_file(folder); };
  };
  const auto any_of = [](std::vector<std::string_view> choices) {
    return [choices = std::move(choices)](const Arguments&) { return words(choices); };
  };
  static const std::vector<Source> all{
      {"--cluster", or_file("clusters")},
      {"cluster", or_file("clusters")},
      {"scenario", or_file("scenarios")},
      {"--job", or_file("scenarios")},
      {"--place", any_of({"packed", "spread", "random"})},
      {"campaign", or_file("campaigns")},
      {"--against", or_file("scenarios"), "SCENARIO|RESULT|POINT"},
      {"--device", from("devices")},
      {"--stack", from("stacks")},
      {"--model", or_file("models")},
      {"--gpu", or_file("devices")},
      {"--precision",
       [](const Arguments&) {
         Completions out = shipped("precisions");
         for (const char* name : {"bf16", "fp16", "fp8", "fp32"}) out.add(name);
         return out;
       }},
      {"--objective", [](const Arguments&) { return metric_names(); }},
      {"--pareto", [](const Arguments&) { return metric_names(); }},
      {"--no-rule", any_of({"nvlink_domain"})},
      {"--space", or_file("spaces")},
      {"--emit", any_of({"megatron", "torchtitan", "deepspeed", "nemo", "scenario", "slurm",
                         "parallel", "hyperqueue"})},
      {"--nccl", from("nccl")},
      {"--calibration", or_file("calibration")},
      {"collective", collectives_or_entries},
      {"algorithm", algorithms},
      {"--algorithm", algorithms_and_choices},
      {"--algorithms", algorithms_and_choices},
      {"--routes", [](const Arguments&) { return words(kRoutePolicyNames); }},
      {"--network", any_of({"fluid", "alpha-beta", "queue"})},
      {"--protocol", or_file("protocols")},
      {"--format", any_of({"table", "json", "csv", "md"})},
      {"--datatype", [](const Arguments&) { return element_type_names(); }},
      {"--type", [](const Arguments&) { return element_type_names(); }},
      {"--fold", any_of({"auto", "off"})},
      {"--plot-of", any_of({"rounds", "small_time", "busiest", "total", "large_time"})},
      {"--fabric", [](const Arguments&) { return fabrics(); }},
      {"--plot", [](const Arguments&) { return figures_before_files(run_figure_kinds()); },
       "FIGURE=FILE"},
      {"--plot",
       [](const Arguments&) {
         Completions out = figures_before_files(collective_figure_kinds());
         out.files = true;
         return out;
       },
       "[FIGURE=]FILE"},
      {"--trace-detail", any_of({"microbatch", "layer", "kernel"})},
      {"word", [](const Arguments&) { return help_words(); }},
      {"registry", any_of({"algorithms", "topologies", "devices", "clusters", "models", "scenarios",
                           "stacks", "precisions", "spaces", "campaigns"})},
      {"trace",
       [](const Arguments&) {
         return Completions{{}, true};
       }},
  };
  return all;
}

const Source* source_of(const OptionInfo& option) {
  for (const Source& each : sources()) {
    const bool named =
        each.name == option.positional ||
        std::find(option.names.begin(), option.names.end(), each.name) != option.names.end();
    if (named && (each.type.empty() || each.type == option.type)) return &each;
  }
  return nullptr;
}

/// "auto|off" as two words; what is in capitals is no choice but a placeholder.
Completions choices_of(const std::string& type) {
  Completions out;
  for (std::size_t at = 0; at <= type.size();) {
    const std::size_t end = std::min(type.find('|', at), type.size());
    const std::string word = type.substr(at, end - at);
    if (!word.empty() && std::none_of(word.begin(), word.end(), ::isupper)) out.add(word);
    at = end + 1;
  }
  return out;
}

}  // namespace

Completions values_of(const OptionInfo& option, const Arguments& arguments) {
  if (option.type.find('|') != std::string::npos) {
    // "SCENARIO|RESULT|POINT" has none: as an option of that name.
    Completions choices = choices_of(option.type);
    if (!choices.words.empty()) return choices;
  }
  if (const Source* source = source_of(option)) return source->values(arguments);
  Completions out;
  out.files = option.type.rfind("FILE", 0) == 0;
  return out;
}

}  // namespace lockstep::cli
