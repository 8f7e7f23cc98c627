#include "tools/lockstep/list/list_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/models/count/count.hpp"
#include "strategies/models/files/model_file.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/stacks/precision_recipe_file.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "tools/app/campaign/file/campaign_file.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/plan/space.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::cli {

namespace {

Cell text(std::string_view value) {
  return Cell{std::string{value}};
}

/// 8.03e9 as "8.03 B".
Cell parameters(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return Cell{count, fmt::format("{:.2f} B", value / 1e9)};
  return Cell{count, fmt::format("{:.1f} M", value / 1e6)};
}

struct ListedModel {
  std::string id;
  ModelConfig model;
  ParameterCount count{};
};

/// The models of a folder: families in alphabetical order, in each from the smallest to the
/// largest.
std::vector<ListedModel> by_family(const std::string& folder) {
  std::vector<ListedModel> out;
  for (const std::string& id : model_ids(folder)) {
    ModelConfig model = load_model(fmt::format("{}/{}.json", folder, id));
    const ParameterCount count = count_parameters(model);
    out.push_back({id, std::move(model), count});
  }
  std::stable_sort(out.begin(), out.end(), [](const ListedModel& a, const ListedModel& b) {
    return std::pair{a.model.family, a.count.total()} < std::pair{b.model.family, b.count.total()};
  });
  return out;
}

}  // namespace

Report list_models() {
  Report out;
  out.schema = "lockstep.list.models/1";
  out.columns = {{"id", "model", "", true},           {"name", "name", "", true},
                 {"parameters", "parameters", ""},    {"active_parameters", "active", ""},
                 {"source", "source", "", true, 200}, {"family", "family", "", true}};
  Section section;
  for (const ListedModel& listed : by_family(config_folder() + "/models")) {
    const ModelConfig& model = listed.model;
    section.rows.push_back({text(listed.id), text(model.name), parameters(listed.count.total()),
                            parameters(listed.count.active()), text(model.source),
                            text(model.family)});
  }
  out.sections.push_back(std::move(section));
  out.first_in_tables = {"family"};
  out.left_out_first = {"name", "source"};
  out.footer = {"active: of models with experts, those that a token meets"};
  return out;
}

Report list_scenarios() {
  Report out;
  out.schema = "lockstep.list.scenarios/1";
  out.columns = {{"name", "scenario", "", true}, {"model", "model", "", true, 40},
                 {"gpus", "GPUs", ""},           {"cluster", "cluster", "", true, 40},
                 {"file", "", "", true},         {"summary", "summary", "", true, 200}};
  out.left_out_first = {"cluster", "model"};
  Section section;
  const std::string folder = config_folder() + "/scenarios";
  for (const std::string& name : model_ids(folder)) {
    const std::string path = fmt::format("{}/{}.json", folder, name);
    const Scenario scenario = load_scenario(path, {}, config_folder());
    section.rows.push_back({text(name), text(scenario.model.name),
                            Cell{std::int64_t{scenario.parallel.ranks()}},
                            text(scenario.cluster.name), text(path), text(scenario.summary)});
  }
  out.sections.push_back(std::move(section));
  out.footer = {"`lockstep run NAME` simulates one; --set changes any value of it"};
  return out;
}

Report list_stacks() {
  Report out;
  out.schema = "lockstep.list.stacks/1";
  out.columns = {{"id", "stack", "", true},
                 {"use", "choose it for", "", true, 200},
                 {"aliases", "also called", "", true, 40},
                 {"name", "", "", true},
                 {"attention", "", "", true},
                 {"host_time_s", "", ""}};
  Section section;
  const std::string folder = config_folder() + "/stacks";
  const ConfigNames names{config_folder(), "stacks"};
  for (const std::string& id : software_stack_ids(folder)) {
    const SoftwareStack stack = load_software_stack(fmt::format("{}/{}.json", folder, id));
    section.rows.push_back(
        {text(id), text(stack.use), text(fmt::format("{}", fmt::join(names.aliases_of(id), ", "))),
         text(stack.name), text(fmt::format("{}", fmt::join(stack.attention, ", "))),
         Cell{stack.host_time.seconds(), to_string(stack.host_time)}});
  }
  out.sections.push_back(std::move(section));
  out.footer = {
      "a scenario names one as `stack`; parameters and sources: `lockstep list stacks NAME`; "
      "files: " +
      folder};
  return out;
}

Report list_precisions() {
  Report out;
  out.schema = "lockstep.list.precisions/1";
  out.columns = {{"id", "precision", "", true},
                 {"name", "name", "", true, 200},
                 {"operands", "operands", "", true},
                 {"cast_bytes", "bytes per cast", ""},
                 {"stores_operands", "kept and gathered", "", true}};
  Section section;
  const std::string folder = config_folder() + "/precisions";
  for (const std::string& id : device_ids(folder)) {
    const PrecisionRecipeFile file = load_precision_recipe(fmt::format("{}/{}.json", folder, id));
    const PrecisionRecipe& recipe = file.recipe;
    const std::string_view operands = to_string(recipe.products);
    section.rows.push_back(
        {text(id), text(file.name), text(std::string{operands}),
         Cell{recipe.casts.traffic, fmt::format("{:g}", recipe.casts.traffic)},
         text(recipe.stores_operands ? std::string{operands} : "as activations")});
  }
  out.sections.push_back(std::move(section));
  out.footer = {"a scenario names one as `parallel.precision`; fp8: that of its software stack",
                "parameters and sources: `lockstep list precisions NAME`; files: " + folder};
  return out;
}

Report list_spaces() {
  Report out;
  out.schema = "lockstep.list.spaces/1";
  out.columns = {{"name", "space", "", true},
                 {"points", "points", ""},
                 {"file", "", "", true},
                 {"summary", "question", "", true, 200}};
  Section section;
  const std::string folder = config_folder() + "/spaces";
  for (const std::string& id : device_ids(folder)) {
    const std::string path = fmt::format("{}/{}.json", folder, id);
    SpaceRequest request;
    request.file = path;
    const JsonDocument file = read_json(path);
    const auto* root = file.root.get_if<JsonObject>();
    const JsonValue* summary = root != nullptr ? find_member(*root, "summary") : nullptr;
    const auto* question = summary != nullptr ? summary->get_if<std::string>() : nullptr;
    section.rows.push_back({text(id), Cell{static_cast<std::int64_t>(make_space(request).size())},
                            text(path), text(question != nullptr ? *question : "")});
  }
  out.sections.push_back(std::move(section));
  out.footer = {"`lockstep plan --space NAME` answers; files: " + folder};
  return out;
}

Report list_campaigns() {
  Report out;
  out.schema = "lockstep.list.campaigns/1";
  out.columns = {{"name", "campaign", "", true},
                 {"causes", "causes", ""},
                 {"file", "", "", true},
                 {"summary", "summary", "", true, 200}};
  Section section;
  const std::string folder = config_folder() + "/campaigns";
  for (const std::string& id : device_ids(folder)) {
    const std::string path = fmt::format("{}/{}.json", folder, id);
    const CampaignPlan plan = read_campaign(read_json(path));
    section.rows.push_back({text(id), Cell{static_cast<std::int64_t>(plan.causes.size())},
                            text(path), text(plan.summary)});
  }
  out.sections.push_back(std::move(section));
  out.footer = {"`lockstep campaign SCENARIO NAME` simulates; files: " + folder};
  return out;
}

}  // namespace lockstep::cli
