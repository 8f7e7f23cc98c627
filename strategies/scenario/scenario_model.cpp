#include "strategies/scenario/scenario_model.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "sim/config/json/json_schema.hpp"
#include "sim/config/json/json_values.hpp"
#include "sim/config/json/pointer.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/files/model_file.hpp"

namespace lockstep {
namespace {

const Names<ActivationFunction>& activation_names() {
  static const Names<ActivationFunction> names{
      {"relu", ActivationFunction::relu},     {"gelu", ActivationFunction::gelu},
      {"silu", ActivationFunction::silu},     {"squared_relu", ActivationFunction::squared_relu},
      {"swiglu", ActivationFunction::swiglu}, {"geglu", ActivationFunction::geglu}};
  return names;
}

std::string_view name_of(Positions positions) {
  if (positions == Positions::none) return "none";
  return positions == Positions::learned ? "learned" : "rotary";
}

std::string_view name_of(QueryKeyNorm norm) {
  if (norm == QueryKeyNorm::all_heads) return "all_heads";
  return norm == QueryKeyNorm::per_head ? "per_head" : "shared";
}

JsonValue json_of_lengths(const std::vector<std::int64_t>& lengths) {
  std::vector<JsonValue> out;
  for (const std::int64_t tokens : lengths) out.push_back(json_of(tokens));
  return json_of(std::move(out));
}

std::optional<JsonValue> json_of_documents(const TransformerConfig& model) {
  if (const auto& drawn = model.packed.drawn) {
    const auto seed = static_cast<std::int64_t>(drawn->seed);
    if (drawn->kind == DocumentDraw::Kind::uniform)
      return json_object({{"distribution", json_of("uniform")},
                          {"shortest", json_of(drawn->shortest)},
                          {"longest", json_of(drawn->longest)},
                          {"seed", json_of(seed)}});
    return json_object({{"distribution", json_of("lognormal")},
                        {"mean", json_of(drawn->mean)},
                        {"sigma", json_of(drawn->sigma)},
                        {"seed", json_of(seed)}});
  }
  if (!model.packed.lists.empty()) {
    std::vector<JsonValue> lists;
    for (const auto& lengths : model.packed.lists) lists.push_back(json_of_lengths(lengths));
    return json_of(std::move(lists));
  }
  if (model.documents.empty()) return std::nullopt;
  return json_of_lengths(model.documents);
}

bool has_key(const JsonValue& value, std::string_view key) {
  const auto* object = value.get_if<JsonObject>();
  return object != nullptr && find_member(*object, key) != nullptr;
}

bool is_hugging_face(const JsonValue& root) {
  return has_key(root, "model_type") || has_key(root, "architectures") ||
         has_key(root, "_class_name");
}

/// A file's document in Lockstep's own form, and the notes on it. A sequence length for a
/// config.json replaces the one that it may not have.
JsonDocument own_form(const std::filesystem::path& path, const JsonValue* sequence,
                      std::vector<std::string>& notes) {
  JsonDocument document = read_json(path, JsonNumbers::python);
  if (!is_hugging_face(document.root)) return document;
  if (sequence != nullptr) {
    set_member(std::get<JsonObject>(document.root.data), "seq", *sequence);
  }
  ModelConfig model = read_model(document);
  notes = std::move(model.notes);
  document.root = json_of(model);
  return document;
}

/// Problems with members that the scenario has are placed in the scenario, at the member.
ConfigError placed(const ConfigError& error, const ValueReader& at) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) {
    for (const JsonMember& member : *at.value()->get_if<JsonObject>()) {
      const std::string pointer = child_pointer("", member.key);
      const bool its =
          problem.pointer.rfind(pointer, 0) == 0 &&
          (problem.pointer.size() == pointer.size() || problem.pointer[pointer.size()] == '/');
      if (!its || member.key == "file") continue;
      problem.file = at.problems().file();
      if (problem.at.line == 0) problem.at = member.key_at;
      problem.pointer = at.pointer() + problem.pointer;
    }
  }
  return {std::move(problems), error.total()};
}

/// The member instead of the one of its name; of two objects, their members one by one.
void override_member(JsonObject& own, const JsonMember& by) {
  const auto* parts = by.value.get_if<JsonObject>();
  const auto found = std::find_if(own.begin(), own.end(),
                                  [&](const JsonMember& member) { return member.key == by.key; });
  auto* held = found == own.end() ? nullptr : std::get_if<JsonObject>(&found->value.data);
  if (parts == nullptr || held == nullptr) return set_member(own, by.key, by.value);
  for (const JsonMember& part : *parts) override_member(*held, part);
}

/// The file's model with the scenario's keys instead of its own.
ModelConfig read_with(const std::filesystem::path& path, const ValueReader& at) {
  const auto& members = *at.value()->get_if<JsonObject>();
  if (members.size() == 1) return load_model(path);
  std::vector<std::string> notes;
  JsonDocument document = own_form(path, find_member(members, "seq"), notes);
  auto* own = std::get_if<JsonObject>(&document.root.data);
  for (const JsonMember& member : members) {
    if (member.key == "file") continue;
    if (own != nullptr) override_member(*own, member);
  }
  try {
    ModelConfig out = read_model(document);
    out.notes = std::move(notes);
    return out;
  } catch (const ConfigError& error) {
    throw placed(error, at);
  }
}

std::optional<ModelConfig> read_file(const ValueReader& at, const ValueReader& name,
                                     const ScenarioFolders& folders) {
  const auto path = find_file(name, name.string(), "model", "models", folders);
  if (!path) return std::nullopt;
  return or_noted(at.problems(),
                  [&] { return at.is_object() ? read_with(*path, at) : load_model(*path); });
}

/// Calls set(key, value) for what a model has and most have not.
template <class Set>
void set_features(const TransformerConfig& model, const Set& set) {
  static const TransformerConfig plain;
  const auto differs = [&](std::string_view key, auto TransformerConfig::*member) {
    if (model.*member != plain.*member) set(key, json_of(model.*member));
  };
  differs("out_bias", &TransformerConfig::out_bias);
  differs("mlp_bias", &TransformerConfig::mlp_bias);
  differs("router_bias", &TransformerConfig::router_bias);
  differs("head_bias", &TransformerConfig::head_bias);
  differs("norm_bias", &TransformerConfig::norm_bias);
  differs("embedding_norm", &TransformerConfig::embedding_norm);
  differs("position_rows", &TransformerConfig::position_rows);
  differs("sinks", &TransformerConfig::sinks);
  differs("output_layer", &TransformerConfig::output_layer);
  if (model.norm_place != plain.norm_place) {
    set("norm_place", json_of(model.norm_place == NormPlace::after ? "after" : "around"));
  }
  if (model.qk_norm != plain.qk_norm) set("qk_norm", json_of(name_of(model.qk_norm)));
  if (model.residual != plain.residual) {
    const bool one = model.residual == Residual::parallel;
    set("residual", json_of(one ? "parallel" : "parallel_two_norms"));
  }
  if (model.attention_dropout) set("attention_dropout", json_of(*model.attention_dropout));
  if (const auto& mtp = model.mtp) {
    set("mtp", json_object({{"layers", json_of(mtp->layers)},
                            {"loss_scaling_factor", json_of(mtp->loss_scaling_factor)}}));
  }
  if (const auto& window = model.window) {
    set("window", json_object({{"size", json_of(window->size)},
                               {"chunked", json_of(window->chunked)},
                               {"first_layer", json_of(window->first_layer)},
                               {"full_every", json_of(window->full_every)},
                               {"full_rotary", json_of(window->full_rotary)}}));
  }
  if (auto documents = json_of_documents(model)) set("documents", std::move(*documents));
}

/// What vision and diffusion transformers have in common.
JsonObject members_of_patches(std::string_view kind, const TransformerConfig& model) {
  JsonObject out;
  const auto set = [&out](std::string_view key, JsonValue value) {
    set_member(out, key, std::move(value));
  };
  set("kind", json_of(kind));
  set("layers", json_of(model.layers));
  set("hidden", json_of(model.hidden));
  set("heads", json_of(model.heads));
  set("ffn", json_of(model.ffn));
  set("image", json_of(model.image->side));
  set("patch", json_of(model.image->patch));
  set("channels", json_of(model.image->channels));
  set("classes", json_of(model.vocabulary));
  set("attention", json_of(model.attention == AttentionKind::flash ? "flash" : "unfused"));
  return out;
}

JsonObject members_of_vit(const TransformerConfig& model) {
  JsonObject out = members_of_patches("vit", model);
  set_member(out, "pooling", json_of(model.image->class_token ? "class_token" : "mean"));
  set_member(out, "activation", json_of(name_of(activation_names(), model.function)));
  set_member(out, "dropout", json_of(model.dropout));
  if (model.attention_dropout)
    set_member(out, "attention_dropout", json_of(*model.attention_dropout));
  return out;
}

JsonObject members_of_dit(const TransformerConfig& model) {
  JsonObject out = members_of_patches("dit", model);
  set_member(out, "learned_variance", json_of(model.diffusion->learned_variance));
  return out;
}

JsonObject members_of_t5(const TransformerConfig& model) {
  JsonObject out;
  const auto set = [&out](std::string_view key, JsonValue value) {
    set_member(out, key, std::move(value));
  };
  set("kind", json_of("t5"));
  set("layers", json_of(model.layers));
  set("encoder_layers", json_of(model.encoder->layers));
  set("hidden", json_of(model.hidden));
  set("heads", json_of(model.heads));
  set("head_size", json_of(model.head_size));
  set("ffn", json_of(model.ffn));
  set("gated_mlp", json_of(model.gated));
  set("activation", json_of(name_of(activation_names(), model.function)));
  set("seq", json_of(model.sequence));
  set("encoder_seq", json_of(model.encoder->sequence));
  set("buckets", json_of(model.encoder->buckets));
  set("vocab", json_of(model.vocabulary));
  set("tied_embeddings", json_of(model.tied_embeddings));
  set("dropout", json_of(model.dropout));
  if (model.attention_dropout) set("attention_dropout", json_of(*model.attention_dropout));
  return out;
}

JsonObject members_of(const TransformerConfig& model) {
  if (model.diffusion) return members_of_dit(model);
  if (model.image) return members_of_vit(model);
  if (model.encoder) return members_of_t5(model);
  JsonObject out;
  const auto set = [&out](std::string_view key, JsonValue value) {
    set_member(out, key, std::move(value));
  };
  set("kind", json_of("transformer"));
  set("layers", json_of(model.layers));
  set("hidden", json_of(model.hidden));
  set("heads", json_of(model.heads));
  set("kv_heads", json_of(model.kv_heads));
  if (!model.latent) set("head_size", json_of(model.head_size));
  set("ffn", json_of(model.ffn));
  set("gated_mlp", json_of(model.gated));
  set("seq", json_of(model.sequence));
  set("vocab", json_of(model.vocabulary));
  set("tied_embeddings", json_of(model.tied_embeddings));
  set("attention", json_of(model.attention == AttentionKind::flash ? "flash" : "unfused"));
  set("causal", json_of(model.causal));
  set("norm", json_of(model.norm == Normalization::layer ? "layer" : "rms"));
  set("activation", json_of(name_of(activation_names(), model.function)));
  set("positions", json_of(name_of(model.positions)));
  set("bias", json_of(model.bias));
  set("qkv_bias", json_of(model.qkv_bias));
  set("dropout", json_of(model.dropout));
  set_features(model, set);
  if (const auto& experts = model.experts) {
    set("experts", json_object({{"count", json_of(experts->experts)},
                                {"top_k", json_of(experts->top_k)},
                                {"groups", json_of(experts->groups)},
                                {"group_top_k", json_of(experts->group_top_k)},
                                {"ffn", json_of(experts->ffn)},
                                {"shared", json_of(experts->shared)},
                                {"shared_ffn",
                                 json_of(experts->shared > 0 ? experts->shared_ffn : experts->ffn)},
                                {"dense_layers", json_of(experts->dense_layers)},
                                {"every", json_of(experts->every)}}));
  }
  if (const auto& latent = model.latent) {
    set("latent", json_object({{"query_rank", json_of(latent->query_rank)},
                               {"kv_rank", json_of(latent->kv_rank)},
                               {"key_size", json_of(latent->key_size)},
                               {"rotary_size", json_of(latent->rotary_size)},
                               {"value_size", json_of(latent->value_size)}}));
  }
  return out;
}

JsonObject members_of(const MlpConfig& model) {
  JsonObject out;
  set_member(out, "kind", json_of("mlp"));
  set_member(out, "hidden", json_of(model.hidden));
  set_member(out, "ffn", json_of(model.ffn));
  set_member(out, "layers", json_of(model.layers));
  set_member(out, "activation", json_of(name_of(activation_names(), model.function)));
  set_member(out, "bias", json_of(model.bias));
  return out;
}

JsonObject members_of(const ResNetConfig& model) {
  std::vector<JsonValue> stages;
  for (const std::int64_t blocks : model.stages) stages.push_back(json_of(blocks));
  JsonObject out;
  set_member(out, "kind", json_of("resnet"));
  set_member(out, "stages", json_of(std::move(stages)));
  set_member(out, "width", json_of(model.width));
  set_member(out, "image", json_of(model.image));
  set_member(out, "classes", json_of(model.classes));
  set_member(out, "frames", json_of(model.frames));
  set_member(out, "temporal_shift", json_of(model.temporal_shift));
  return out;
}

}  // namespace

std::optional<ModelConfig> read_scenario_model(const ValueReader& at,
                                               const ScenarioFolders& folders) {
  if (at.is_string()) return read_file(at, at, folders);
  if (at.value() != nullptr && has_key(*at.value(), "file")) {
    const auto& members = *at.value()->get_if<JsonObject>();
    return read_file(at, {find_member(members, "file"), at.pointer() + "/file", at.problems()},
                     folders);
  }
  if (!at.is_object()) {
    at.refuse(R"(a model: the name of one, such as "gpt3-175b", or an object)");
    return std::nullopt;
  }
  return read_model(at);
}

void describe_scenario_model(const ValueReader& at) {
  (void)at.string();
  at.allow(any_object_schema());
}

JsonValue json_of(const ModelConfig& model) {
  JsonObject out = std::visit([](const auto& shape) { return members_of(shape); }, model.shape);
  out.insert(out.begin(),
             {{"name", {}, json_of(model.name)}, {"source", {}, json_of(model.source)}});
  return {{}, std::move(out)};
}

}  // namespace lockstep
