#include "tools/lockstep/list/card.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/complaint.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/models/files/model_file.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/scenario/scenario_model.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::cli {

namespace {

const std::string kComputed = "computed";

/// The rows of a card.
class Card {
 public:
  void add(const std::string& parameter, const std::string& value, const std::string& source,
           const std::string& provenance = "") {
    if (!value.empty())
      rows_.push_back({Cell{parameter}, Cell{value}, Cell{source}, Cell{provenance}});
  }

  /// An exact count, in tables as `shown`.
  void add_count(const std::string& parameter, std::int64_t count, std::string shown) {
    rows_.push_back({Cell{parameter}, Cell{count, std::move(shown)}, Cell{kComputed}, Cell{""}});
  }

  /// Every value below `value`; {"value": ..., "source": ...} is one.
  void add_values(const std::string& parameter, const JsonValue& value) {
    const auto* object = value.get_if<JsonObject>();
    if (object == nullptr) {
      add(parameter, text_of(value), "");
      return;
    }
    const JsonValue* figure = find_member(*object, "value");
    const JsonValue* source = find_member(*object, "source");
    if (figure != nullptr && source != nullptr) {
      const JsonValue* provenance = find_member(*object, "provenance");
      add(parameter, text_of(*figure), text_of(*source),
          provenance != nullptr ? text_of(*provenance) : "assumed");
      return;
    }
    for (const JsonMember& member : *object)
      if (member.key != "$schema")
        add_values(parameter.empty() ? member.key : parameter + "." + member.key, member.value);
  }

  [[nodiscard]] std::vector<std::vector<Cell>> rows() && { return std::move(rows_); }

 private:
  static std::string text_of(const JsonValue& value) {
    if (const auto* text = value.get_if<std::string>()) return *text;
    if (const auto* whole = value.get_if<std::int64_t>()) return fmt::format("{}", *whole);
    if (const auto* number = value.get_if<JsonNumber>()) return number->text;
    if (const auto* yes = value.get_if<bool>()) return *yes ? "true" : "false";
    if (const auto* array = value.get_if<JsonArray>()) {
      std::vector<std::string> items;
      for (const JsonValue& each : *array) items.push_back(text_of(each));
      return fmt::format("{}", fmt::join(items, ", "));
    }
    if (const auto* object = value.get_if<JsonObject>()) {
      std::vector<std::string> members;
      for (const JsonMember& each : *object)
        members.push_back(each.key + " " + text_of(each.value));
      return fmt::format("{}", fmt::join(members, ", "));
    }
    return shown(value);
  }

  std::vector<std::vector<Cell>> rows_{};
};

void add_device(const std::string& path, Card& card) {
  const Device device = load_device(path);
  if (!device.peer_links) return;
  const auto& links = *device.peer_links;
  card.add(
      "peer_links (all)",
      fmt::format("{:.6g} GB/s in each direction",
                  links.bandwidth.bytes_per_second() * static_cast<double>(links.count) * 1e-9),
      kComputed);
}

/// "70.55 B", "124.4 M".
std::string short_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  return count >= 1'000'000'000 ? fmt::format("{:.4g} B", value * 1e-9)
                                : fmt::format("{:.4g} M", value * 1e-6);
}

void add_parameters(const ModelConfig& model, Card& card) {
  const ParameterCount count = count_parameters(model);
  card.add_count("parameters", count.total(), short_count(count.total()));
  if (count.active() != count.total())
    card.add_count("active parameters", count.active(), short_count(count.active()) + " per token");
}

void add_cluster_size(const std::string& path, Card& card) {
  const ClusterFile file = load_cluster(path);
  card.add("ranks", fmt::format("{}", file.cluster.ranks()), kComputed);
  card.add("nodes", fmt::format("{}", file.cluster.nodes()), kComputed);
}

void add_scenario(const std::string& path, Card& card) {
  const Scenario scenario = load_scenario(path, {}, app::config_folder());
  card.add("GPUs", fmt::format("{}", scenario.parallel.ranks()), kComputed);
}

void add_computed(const std::string& kind, const std::string& path, Card& card) {
  if (kind == "devices") add_device(path, card);
  if (kind == "models") add_parameters(load_model(path), card);
  if (kind == "clusters") add_cluster_size(path, card);
  if (kind == "scenarios") add_scenario(path, card);
}

bool is_file(const std::string& name) {
  return name.find('/') != name.npos || name.ends_with(".json");
}

Report report_of(Card&& card) {
  Report out;
  out.schema = "lockstep.list.card/2";
  out.columns = {{"parameter", "parameter", "", true},
                 {"value", "value", "", true, 40},
                 {"source", "source", "", true, 60},
                 {"provenance", "provenance", "", true}};
  out.left_out_first = {"provenance"};
  out.sections.push_back({{}, std::move(card).rows()});
  return out;
}

/// A model's file, in Lockstep's or Hugging Face's format: its values as Lockstep reads them.
Report card_of_file(const std::string& path) {
  const ModelConfig model = load_model(path);
  Card card;
  card.add("file", path, "");
  add_parameters(model, card);
  card.add_values("", json_of(model));
  for (const std::string& note : model.notes) card.add("note", note, "");
  return report_of(std::move(card));
}

}  // namespace

Report list_card(const std::string& kind, const std::string& name) {
  if (kind == "topologies" || kind == "algorithms")
    throw UsageError(fmt::format("list {} takes no name", kind));
  if (kind == "models" && is_file(name)) return card_of_file(name);
  const ConfigNames names{app::config_folder(), kind};
  const auto id = names.meant(name);
  if (!id) {
    const std::string noun = kind == "stacks"       ? "software stack"
                             : kind == "precisions" ? "precision recipe"
                                                    : kind.substr(0, kind.size() - 1);
    throw UsageError(names.complaint(noun, name));
  }
  const std::string path = names.file_of(*id).string();
  Card card;
  card.add("id", *id, "");
  card.add("aliases", fmt::format("{}", fmt::join(names.aliases_of(*id), ", ")), "");
  card.add("file", path, "");
  add_computed(kind, path, card);
  card.add_values("", read_json(path, JsonNumbers::python).root);
  return report_of(std::move(card));
}

}  // namespace lockstep::cli
