#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/keys_without_effect.hpp"

namespace lockstep {

namespace {

using hugging_face::Family;
using hugging_face::Keys;

/// The name of a class in a config.json of diffusers.
constexpr std::string_view kDiffusersKey = "_class_name";

/// What a class is for, by the end of its name.
enum class ClassKind : std::uint8_t { language_model, base, other };

constexpr std::array<std::string_view, 4> kWithHead{
    "ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForImageClassification"};

[[nodiscard]] ClassKind kind_of(std::string_view architecture) {
  for (const std::string_view ending : kWithHead) {
    if (architecture.ends_with(ending)) return ClassKind::language_model;
  }
  return architecture.ends_with("Model") ? ClassKind::base : ClassKind::other;
}

/// "Llama" of "LlamaForCausalLM".
[[nodiscard]] std::string_view attachment_of(std::string_view architecture) {
  for (const std::string_view ending : kWithHead) {
    if (architecture.ends_with(ending))
      return architecture.substr(0, architecture.size() - ending.size());
  }
  if (architecture.ends_with("Model")) architecture.remove_suffix(5);
  return architecture;
}

/// The text of a key; nothing where it is absent, null or empty.
[[nodiscard]] std::optional<std::string> text_of(Keys& keys, std::string_view key) {
  const auto found = keys.find(key);
  if (!found) return std::nullopt;
  const auto* text = found->value()->get_if<std::string>();
  if (text != nullptr && text->empty()) return std::nullopt;
  return found->string();
}

/// The first of `architectures`.
[[nodiscard]] std::optional<std::string> architecture_of(Keys& keys) {
  std::optional<std::string> out;
  const auto found = keys.find("architectures");
  if (!found) return out;
  found->array([&out](const ValueReader& each) {
    std::string name = each.string();
    if (!out) out = std::move(name);
  });
  return out;
}

[[nodiscard]] const Family* find_family(std::string_view name, std::string_view Family::*by,
                                        std::span<const Family> among = hugging_face::families()) {
  for (const Family& family : among) {
    if (family.*by == name) return &family;
  }
  return nullptr;
}

[[nodiscard]] std::string_view why_refused(std::string_view type) {
  for (const hugging_face::RefusedFamily& refused : hugging_face::refused_families()) {
    if (refused.type == type) return refused.why;
  }
  return {};
}

/// All families are named: which other one would read such a file right, nobody can tell.
void complain(Keys& keys, std::string_view key, std::string_view name) {
  if (const std::string_view why = why_refused(name); !why.empty()) {
    return keys.refuse(key, fmt::format("{}: {}", in_quotes(name), why));
  }
  const bool of_diffusers = key == kDiffusersKey;
  std::vector<std::string_view> known;
  for (const Family& family :
       of_diffusers ? hugging_face::diffusers_classes() : hugging_face::families()) {
    known.push_back(key == "model_type" ? family.type : family.architecture);
  }
  keys.refuse(key, fmt::format("the family {} is not known; those that are read: {}; a model can "
                               "also be given in Lockstep's own form",
                               in_quotes(name), fmt::join(known, ", ")));
}

/// By model_type, else by what the class's name begins with; noted where neither is known.
[[nodiscard]] const Family* family_of(Keys& keys, const std::optional<std::string>& outer_type) {
  if (const auto name = text_of(keys, kDiffusersKey)) {
    const Family* family =
        find_family(*name, &Family::architecture, hugging_face::diffusers_classes());
    if (family == nullptr) complain(keys, kDiffusersKey, *name);
    return family;
  }
  std::optional<std::string> type = text_of(keys, "model_type");
  if (!type) type = outer_type;
  if (type) {
    const Family* family = find_family(*type, &Family::type);
    if (family == nullptr) complain(keys, "model_type", *type);
    return family;
  }
  const auto architecture = architecture_of(keys);
  if (!architecture) {
    keys.refuse("architectures", "neither a model_type nor an architecture is named");
    return nullptr;
  }
  const Family* family = find_family(attachment_of(*architecture), &Family::architecture);
  if (family == nullptr) complain(keys, "architectures", *architecture);
  return family;
}

/// A base model has no output layer; other classes than these and language models are refused.
void read_architecture(Keys& keys, const Family& family, TransformerConfig& config) {
  const auto architecture = architecture_of(keys);
  if (!architecture) return;
  const ClassKind kind = kind_of(*architecture);
  if (kind == ClassKind::other) {
    keys.refuse("architectures",
                fmt::format("{} is neither a language model (...ForCausalLM) nor a base model "
                            "(...Model): its last layer is not known",
                            in_quotes(*architecture)));
  } else if (kind == ClassKind::base && (config.encoder || config.image)) {
    keys.refuse(
        "architectures",
        fmt::format("{} has no output layer; of this family the class with one is read: {}",
                    in_quotes(*architecture),
                    config.encoder ? "T5ForConditionalGeneration" : "ViTForImageClassification"));
  } else if (kind == ClassKind::base && !family.head_in_base) {
    config.output_layer = false;
    config.tied_embeddings = false;
    config.head_bias = false;
    keys.say(fmt::format("{} has no output layer: the loss is of its hidden units", *architecture));
  }
}

void tell_of_quantization(Keys& keys) {
  if (!keys.find("quantization_config")) return;
  keys.say("quantization_config is not applied: parallel.precision says how numbers are kept");
}

/// Whatever could change the model and nobody has read.
void tell_of_unread(Keys& keys) {
  std::vector<std::string> unread = keys.unasked();
  std::erase_if(unread,
                [](const std::string& key) { return hugging_face::is_without_effect(key); });
  if (unread.empty()) return;
  constexpr std::size_t kMostTold = 12;
  const std::size_t more = unread.size() > kMostTold ? unread.size() - kMostTold : 0;
  unread.resize(unread.size() - more);
  keys.say(fmt::format("keys without effect: {}{}", fmt::join(unread, ", "),
                       more > 0 ? fmt::format(" and {} more", more) : std::string{}));
}

struct ReadText {
  const Family* family = nullptr;
  TransformerConfig config{};
};

/// The keys of a language model, at the top or in a text_config.
[[nodiscard]] ReadText read_text(Keys& keys, const std::optional<std::string>& outer_type) {
  ReadText out{.family = family_of(keys, outer_type), .config = {}};
  if (out.family != nullptr) out.family->read(keys, out.config);
  return out;
}

/// A model that also sees or hears: its language part, from text_config.
[[nodiscard]] ReadText read_nested(ObjectReader& in, Keys& outer, const ValueReader& text) {
  const auto type = text_of(outer, "model_type");
  if (type && !why_refused(*type).empty()) {
    complain(outer, "model_type", *type);
    return {};
  }
  ReadText out;
  text.object([&](ObjectReader& inner) {
    (void)inner.all();
    Keys keys{inner, &in};
    out = read_text(keys, type);
    tell_of_unread(keys);
    for (std::string& note : keys.notes()) outer.say(std::move(note));
  });
  return out;
}

}  // namespace

bool is_hugging_face(const ValueReader& value) {
  const auto* object = value.value() == nullptr ? nullptr : value.value()->get_if<JsonObject>();
  return object != nullptr && (find_member(*object, "model_type") != nullptr ||
                               find_member(*object, "architectures") != nullptr ||
                               find_member(*object, kDiffusersKey) != nullptr);
}

ModelConfig read_hugging_face(ObjectReader& in) {
  (void)in.all();
  Keys keys{in};
  ModelConfig model;
  const auto text = keys.find("text_config");
  const bool nested = text && text->is_object();
  ReadText read = nested ? read_nested(in, keys, *text) : read_text(keys, std::nullopt);
  if (read.family == nullptr) return model;
  read_architecture(keys, *read.family, read.config);
  const bool sees = nested || keys.find("vision_config") || keys.find("audio_config");
  if (sees) keys.say("the language part alone: encoders of images and sound are left out");
  tell_of_quantization(keys);
  if (!nested) tell_of_unread(keys);
  const auto path = text_of(keys, "_name_or_path");
  model.name = path.value_or(std::string{read.family->type});
  model.source = "a Hugging Face config.json";
  model.notes = std::move(keys.notes());
  check_transformer(in, read.config, keys.first_of({"num_key_value_heads", "n_head"}));
  model.shape = read.config;
  return model;
}

}  // namespace lockstep
