#include "tools/app/plan/space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "sim/config/complaint.hpp"
#include "sim/config/json/json_schema.hpp"
#include "sim/config/json/json_values.hpp"
#include "sim/config/reader.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/layers.hpp"
#include "strategies/scenario/scenario_overlay.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/inputs/shipped_or_file.hpp"
#include "tools/app/plan/standard_axes.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

namespace {

constexpr std::uint64_t kMostPoints = std::uint64_t{1} << 62U;

/// Keys of `parallel` that the layout axes own.
[[nodiscard]] bool is_layout_member(std::string_view key) {
  return layout_key(key) != nullptr || key == "dp" || key == "stages" || key == "ulysses" ||
         key == "zigzag" || key == "reshard_after_forward" || key == "prefetch" ||
         key == "scatter_gradients" || key == "reduce_gradients" || key == "reduce_replicas";
}

/// The members of `parallel` that the axes own, as overrides; they are taken out.
[[nodiscard]] std::vector<std::string> take_layout(JsonValue& root) {
  std::vector<std::string> out;
  auto* members = std::get_if<JsonObject>(&root.data);
  if (members == nullptr) return out;
  for (JsonMember& member : *members) {
    if (member.key != "parallel") continue;
    auto* parallel = std::get_if<JsonObject>(&member.value.data);
    if (parallel == nullptr) return out;
    for (const JsonMember& each : *parallel)
      if (is_layout_member(each.key))
        out.push_back(fmt::format("parallel.{}={}", each.key, json_text(each.value)));
    std::erase_if(*parallel, [](const JsonMember& each) { return is_layout_member(each.key); });
  }
  std::erase_if(*members, [](const JsonMember& each) { return each.key == "variants"; });
  return out;
}

/// Files that a scenario would look for next to itself are named by their whole path.
[[nodiscard]] std::string file_or_name(const std::string& name) {
  const bool path = name.find('/') != std::string::npos || name.find(".json") != std::string::npos;
  return path ? std::filesystem::absolute(name).lexically_normal().string() : name;
}

/// The id of the device that a shipped cluster names; empty if it names none.
[[nodiscard]] std::string device_of(const std::filesystem::path& cluster, const ConfigNames& gpus) {
  const JsonDocument document = read_json(cluster);
  const auto* root = document.root.get_if<JsonObject>();
  const JsonValue* device = root == nullptr ? nullptr : find_member(*root, "device");
  const auto* name = device == nullptr ? nullptr : device->get_if<std::string>();
  return name == nullptr ? std::string{} : gpus.known(*name).value_or(*name);
}

/// What to write where no cluster is given: the shipped ones that have the wanted GPU.
[[nodiscard]] std::string clusters_with(const SpaceRequest& request) {
  if (request.gpu.empty()) return "; `lockstep list clusters` lists them";
  const ConfigNames gpus{config_folder(), "devices"};
  const auto gpu = gpus.meant(request.gpu);
  if (!gpu) return "";
  const ConfigNames clusters{config_folder(), "clusters"};
  std::vector<std::string> options;
  for (const std::string& id : clusters.ids())
    if (device_of(clusters.file_of(id), gpus) == *gpu) options.push_back("--cluster " + id);
  if (!options.empty()) return fmt::format("; with {}: {}", *gpu, fmt::join(options, " or "));
  return fmt::format(
      "; none of these has {}: plan a scenario with \"cluster\": {{\"gpu\": \"{}\", \"gpus\": {}}}",
      *gpu, *gpu, request.gpus.value_or(64));
}

[[nodiscard]] JsonDocument written(const SpaceRequest& request) {
  std::vector<RequestProblem> missing;
  if (request.model.empty())
    missing.push_back({"model", "expected a scenario, or a model and a cluster"});
  if (request.cluster.empty())
    missing.push_back({"cluster", "expected a cluster: a file or the name of a shipped one" +
                                      clusters_with(request)});
  if (!missing.empty()) throw RequestError(missing);
  JsonObject cluster;
  set_member(cluster, "file", json_of(file_or_name(request.cluster)));
  JsonObject model;
  set_member(model, "file", json_of(file_or_name(request.model)));
  const auto stem = [](const std::string& name) {
    const std::filesystem::path path{name};
    return path.extension() == ".json" ? path.stem().string() : path.filename().string();
  };
  JsonValue root = json_object(
      {{"name", json_of(fmt::format("{} on {}", stem(request.model), stem(request.cluster)))}});
  auto& members = std::get<JsonObject>(root.data);
  set_member(members, "cluster", JsonValue{{}, std::move(cluster)});
  set_member(members, "model", JsonValue{{}, std::move(model)});
  set_member(members, "parallel", json_object({}));
  return {"", std::move(root)};
}

/// `--nodes` and the like, as overrides.
[[nodiscard]] std::vector<std::string> overrides_of(const SpaceRequest& request) {
  std::vector<std::string> out;
  const auto add = [&](const char* key, const auto& value) {
    out.push_back(fmt::format("{}={}", key, value));
  };
  if (request.nodes) add("cluster.nodes", *request.nodes);
  if (request.gpus) add("cluster.ranks", *request.gpus);
  if (request.gpu.find(',') != std::string::npos)
    throw RequestError("gpu", fmt::format("expected one GPU, got \"{}\"; several are an axis: "
                                          "--vary cluster.gpu={}",
                                          request.gpu, request.gpu));
  if (!request.gpu.empty()) add("cluster.gpu", file_or_name(request.gpu));
  if (request.global_batch) add("parallel.global_batch", *request.global_batch);
  if (request.sequence) add("model.seq", *request.sequence);
  if (!request.tokens.empty()) add("tokens", request.tokens);
  if (!request.precision.empty()) add("parallel.precision", request.precision);
  if (!request.stack.empty()) add("stack", request.stack);
  out.insert(out.end(), request.overrides.begin(), request.overrides.end());
  return out;
}

/// A space file: {"vary": {"tp": [1, 2]}, "fix": {"zero": 1}, "scenario" or "model"/"cluster"/...,
/// "objective", "where", "price", ...}; configs/schema/space.schema.json.
class SpaceFile {
 public:
  SpaceFile(const JsonDocument& document, SpaceRequest& request, SpaceGoal& goal)
      : request_{request}, goal_{goal} {
    (void)read_document(document, [this](ObjectReader& in) {
      read(in);
      return true;
    });
  }

  [[nodiscard]] static JsonValue schema() {
    SpaceRequest request;
    SpaceGoal goal;
    return schema_of("space",
                     "A space of parallel layouts and what is asked of it, for `lockstep plan "
                     "--space FILE`.",
                     [&](ObjectReader& in) {
                       SpaceFile{request, goal}.read(in);
                       return true;
                     });
  }

  [[nodiscard]] static std::string file_of(const std::string& name) {
    constexpr const char* kFolder = "spaces";
    if (auto file = shipped_or_file(name, kFolder)) return *std::move(file);
    throw RequestError("space", ConfigNames{config_folder(), kFolder}.complaint("space", name));
  }

 private:
  SpaceFile(SpaceRequest& request, SpaceGoal& goal) : request_{request}, goal_{goal} {}

  void read(ObjectReader& in) {
    (void)in.string("name", "");
    (void)in.string({"summary", "The question"}, "");
    (void)in.string("source", "");
    text(in,
         {"scenario",
          "Scenario file or name, instead of model and cluster; its layout is put into the table"},
         request_.scenario);
    text(in, {"model", "Name of a shipped model, a model file or a Hugging Face config.json"},
         request_.model);
    text(in, {"cluster", "Name of a shipped cluster or a file"}, request_.cluster);
    text(in, {"gpu", "Device instead of the cluster's: name or file"}, request_.gpu);
    number(in, {"nodes", "Number of nodes"}, request_.nodes);
    number(in, {"gpus", "Number of GPUs, instead of nodes"}, request_.gpus);
    number(in, {"global_batch", "Sequences per step"}, request_.global_batch);
    number(in, {"seq", "Tokens per sequence"}, request_.sequence);
    text(in, {"tokens", "Training tokens, such as \"15T\""}, request_.tokens);
    text(in, {"precision", "Precision of linear layers, such as bf16 or fp8"}, request_.precision);
    text(in, {"stack", "Software stack (configs/stacks)"}, request_.stack);
    std::vector<std::string> set;
    in.optional_array({"set", "Overrides of scenario values, such as \"parallel.bucket=100 MB\""},
                      [&](const ValueReader& each) { set.push_back(each.string()); });
    request_.overrides.insert(request_.overrides.begin(), set.begin(), set.end());
    axes(in,
         {"vary",
          "Axes: a key and its values, as a list or as text such as \"1..64*2\" or \"divisors\""},
         request_.vary);
    axes(in, {"fix", "Keys of one value"}, request_.fix);
    read_goal(in);
  }

  void read_goal(ObjectReader& in) {
    text(in, {"objective", "Metric to optimize (default: step_time)"}, goal_.objective);
    in.optional_array(
        {"pareto", "Front of two or three metrics, instead of the objective"},
        [&](const ValueReader& each) { goal_.pareto.push_back(each.string()); }, 2, 3);
    in.optional_array({"where", "Limits on metrics, such as \"days <= 30\""},
                      [&](const ValueReader& each) { goal_.where.push_back(each.string()); });
    goal_.usd_per_gpu_hour = amount(in, {"price", "Price of a GPU hour ($)"}, 0);
    goal_.watts_per_gpu =
        amount(in, {"watts", "Power that a GPU and its part of the node draw (W)"}, 0);
    goal_.pue = amount(in, {"pue", "Power usage effectiveness (default: 1)"}, 1);
    goal_.usd_per_kwh = amount(in, {"price_kwh", "Price of a kWh ($), next to price"}, 0);
  }

  static std::optional<double> amount(ObjectReader& in, const Key& key, double least) {
    const auto at = in.optional(key);
    return at ? std::optional{at->number(least, 1e9)} : std::nullopt;
  }

  static void text(ObjectReader& in, const Key& key, std::string& into) {
    const auto value = in.optional_string(key);
    if (value && into.empty()) into = *value;
  }

  static void number(ObjectReader& in, const Key& key, std::optional<std::int64_t>& into) {
    const auto value = in.optional_integer(key, 1, 1'000'000'000);
    if (value && !into) into = *value;
  }

  /// Errors: RequestError, as of an option.
  static void check_values(const std::string& written) {
    for (const AxisText& axis : parse_axes(written))
      if (const LayoutKey* key = layout_key(axis.key)) (void)layout_axis(*key, axis, 1);
  }

  /// {"tp": [1, 2, 4], "pp": "1..8*2"}: those of flags go before.
  static void axes(ObjectReader& in, const Key& key, std::vector<std::string>& into) {
    const auto at = in.optional(key);
    if (!at) return;
    if (at->describes()) return at->allow(any_object_schema());
    const auto* members = at->value()->get_if<JsonObject>();
    if (members == nullptr) {
      at->refuse("an object of keys and their values, such as {\"tp\": [1, 2, 4, 8]}");
      return;
    }
    std::vector<std::string> out;
    for (const JsonMember& member : *members) {
      out.push_back(member.key + "=" + values(member.value));
      try {
        check_values(out.back());
      } catch (const RequestError& error) {
        at->note(error.problems().front().message);
      }
    }
    into.insert(into.begin(), out.begin(), out.end());
  }

  [[nodiscard]] static std::string value(const JsonValue& of) {
    const auto* text = of.get_if<std::string>();
    return text != nullptr ? *text : json_text(of);
  }

  [[nodiscard]] static std::string values(const JsonValue& of) {
    const auto* array = of.get_if<JsonArray>();
    if (array == nullptr) return value(of);
    std::vector<std::string> out;
    for (const JsonValue& each : *array) out.push_back(value(each));
    return fmt::format("{}", fmt::join(out, ","));
  }

  SpaceRequest& request_;
  SpaceGoal& goal_;
};

/// Puts a space together.
class SpaceMaker {
 public:
  explicit SpaceMaker(SpaceRequest request) : request_{std::move(request)} {}

  [[nodiscard]] PlanSpace make() {
    if (!request_.file.empty())
      SpaceFile{read_json(SpaceFile::file_of(request_.file)), request_, space_.goal};
    make_base();
    try {
      add_settings();
      const Scenario first = scenario_of(space_, 0);
      add_layout(first);
    } catch (const RequestError& error) {
      throw RequestError(placed(error.problems()));
    }
    (void)space_.size();
    return std::move(space_);
  }

 private:
  /// Problems of axes of one value at the option that gave it.
  [[nodiscard]] std::vector<RequestProblem> placed(std::vector<RequestProblem> problems) const {
    for (RequestProblem& problem : problems) {
      const auto is_of = [&](const std::string& written) {
        return problem.message.starts_with(fmt::format("\"{}\": ", written));
      };
      if (problem.place == "vary" && std::any_of(request_.fix.begin(), request_.fix.end(), is_of) &&
          std::none_of(request_.vary.begin(), request_.vary.end(), is_of))
        problem.place = "fix";
    }
    return problems;
  }

  void make_base() {
    BaseScenario base = base_scenario(request_);
    space_.base = std::move(base.document);
    Overlay overlay;
    for (const std::string& assignment : base.overrides)
      overlay.apply(assignment, space_.base.root);
    std::vector<std::string> current = take_layout(space_.base.root);
    if (!request_.scenario.empty()) space_.current = std::move(current);
    const auto* root = space_.base.root.get_if<JsonObject>();
    const JsonValue* name = root != nullptr ? find_member(*root, "name") : nullptr;
    const auto* text = name != nullptr ? name->get_if<std::string>() : nullptr;
    space_.name = text != nullptr ? *text : std::filesystem::path{space_.base.file}.stem().string();
  }

  /// Later ones replace earlier ones of the same key.
  [[nodiscard]] std::map<std::string, AxisText> axes() const {
    std::map<std::string, AxisText> out;
    for (const std::string& each : request_.vary) {
      if (parse_axes(each).size() > 1) continue;
      AxisText axis = parse_axis(each);
      out.insert_or_assign(axis.key, std::move(axis));
    }
    for (const std::string& each : request_.fix) {
      AxisText axis = parse_axis(each);
      if (axis.values.size() != 1)
        throw RequestError("fix", fmt::format("\"{}\": expected one value", each));
      out.insert_or_assign(axis.key, std::move(axis));
    }
    return out;
  }

  void add_settings() {
    for (const auto& [key, axis] : axes()) {
      if (layout_key(key) != nullptr) continue;
      if (key == "parallel.dp")
        throw RequestError("vary", "dp is what the other degrees leave of the GPUs");
      space_.settings.push_back(setting_axis(axis));
    }
    add_joint_settings();
  }

  /// Keys whose values go together.
  void add_joint_settings() {
    std::map<std::string, AxisText> varied = axes();
    for (const std::string& each : request_.vary) {
      const std::vector<AxisText> together = parse_axes(each);
      if (together.size() == 1) continue;
      for (const AxisText& axis : together)
        if (!varied.emplace(axis.key, axis).second)
          throw RequestError("vary", fmt::format("{} is varied twice", axis.key));
      space_.settings.push_back(joint_axis(together));
    }
  }

  void add_layout(const Scenario& scenario) {
    const std::map<std::string, AxisText> given = axes();
    for (std::size_t i = 0; i < kLayoutKeys; ++i) {
      const auto key = static_cast<LayoutKey>(i);
      const auto found = given.find("parallel." + std::string{to_string(key)});
      space_.layout[i] = found != given.end()
                             ? layout_axis(key, found->second, divisible(key, scenario))
                             : LayoutAxis{key, standard_values(key, scenario)};
    }
  }

  SpaceRequest request_;
  PlanSpace space_;
};

}  // namespace

std::int64_t divisible(LayoutKey key, const Scenario& scenario) {
  const auto* shape = scenario.model.transformer();
  switch (key) {
    case LayoutKey::tp:
      return shape != nullptr ? shape->heads : 0;
    case LayoutKey::pp:
    case LayoutKey::vpp:
      return shape != nullptr ? layers_of(scenario.model) : 0;
    case LayoutKey::ep:
      return shape != nullptr && shape->experts ? shape->experts->experts : 0;
    case LayoutKey::cp:
    case LayoutKey::shard_ranks:
      return scenario.cluster.cluster.ranks();
    case LayoutKey::micro_batch:
      return scenario.parallel.global_batch;
    default:
      return 0;
  }
}

BaseScenario base_scenario(const SpaceRequest& request) {
  if (!request.scenario.empty() && (!request.model.empty() || !request.cluster.empty()))
    throw RequestError("scenario", "expected a scenario, or a model and a cluster, not both");
  return {request.scenario.empty() ? written(request) : read_json(scenario_file(request.scenario)),
          overrides_of(request)};
}

std::uint64_t PlanSpace::setting_count() const {
  std::uint64_t out = 1;
  for (const SettingAxis& axis : settings) out *= axis.values.size();
  return out;
}

std::uint64_t PlanSpace::layout_count() const {
  std::uint64_t out = 1;
  for (const LayoutAxis& axis : layout) out *= axis.values.size();
  return out;
}

std::uint64_t PlanSpace::size() const {
  UInt128 out = 1;
  for (const SettingAxis& axis : settings) out *= axis.values.size();
  for (const LayoutAxis& axis : layout) {
    out *= axis.values.size();
    if (out > kMostPoints) throw RequestError("vary", "the space has more than 2^62 points");
  }
  return static_cast<std::uint64_t>(out);
}

std::vector<std::string> PlanSpace::setting_overrides(std::uint64_t setting) const {
  const std::vector<std::size_t> digits = setting_digits(setting);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (std::string& each : settings[i].overrides(digits[i])) out.push_back(std::move(each));
  return out;
}

std::vector<std::size_t> PlanSpace::setting_digits(std::uint64_t setting) const {
  std::vector<std::size_t> out(settings.size());
  for (std::size_t i = settings.size(); i-- > 0;) {
    out[i] = static_cast<std::size_t>(setting % settings[i].values.size());
    setting /= settings[i].values.size();
  }
  return out;
}

std::array<std::int64_t, kLayoutKeys> PlanSpace::digits(std::uint64_t index) const {
  std::array<std::int64_t, kLayoutKeys> out{};
  std::uint64_t rest = index % layout_count();
  for (std::size_t i = kLayoutKeys; i-- > 0;) {
    const auto& values = layout[i].values;
    out[i] = values[rest % values.size()].number;
    rest /= values.size();
  }
  return out;
}

std::string PlanSpace::hash() const {
  std::string text = json_text(base.root);
  for (const SettingAxis& axis : settings)
    text += fmt::format("\n{}={}", axis.key, fmt::join(axis.values, ","));
  for (const LayoutAxis& axis : layout) {
    text += fmt::format("\n{}=", to_string(axis.key));
    for (const LayoutValue& value : axis.values) text += fmt::format("{},", value.number);
  }
  Fingerprint out;
  for (const char letter : text) out.add(letter);
  return out.text();
}

JsonValue space_schema() {
  return SpaceFile::schema();
}

void check_space_file(const JsonDocument& document) {
  SpaceRequest request;
  SpaceGoal goal;
  SpaceFile{document, request, goal};
}

PlanSpace make_space(const SpaceRequest& request) {
  return SpaceMaker{request}.make();
}

Scenario scenario_of(const PlanSpace& space, std::uint64_t setting,
                     const std::vector<std::string>& overrides, LayoutCheck check) {
  std::vector<std::string> all = space.setting_overrides(setting);
  all.insert(all.end(), overrides.begin(), overrides.end());
  return read_scenario(space.base, space.name, all, config_folder(), check);
}

}  // namespace lockstep::app
