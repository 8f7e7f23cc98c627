#include "strategies/models/files/model_file.hpp"

#include <algorithm>
#include <system_error>

#include "strategies/models/files/model_readers.hpp"

namespace lockstep {

namespace {

ModelConfig read_own_form(ObjectReader& in, bool with_source) {
  ModelConfig model;
  model.name = in.string("name");
  const Key source{"source", "Publication or repository the values come from"};
  model.source = with_source ? in.string(source) : in.string(source, "given with the scenario");
  model.family =
      in.string({"family", "Family by which `lockstep list models` groups (default: none)"}, "");
  const std::string kind =
      in.kind("kind", "kind of model", {"transformer", "t5", "vit", "dit", "mlp", "resnet"},
              "transformer")
          .value_or("");
  if (kind == "transformer") {
    model.shape = read_transformer(in);
  } else if (kind == "t5") {
    model.shape = read_t5(in);
  } else if (kind == "vit") {
    model.shape = read_vit(in);
  } else if (kind == "dit") {
    model.shape = read_dit(in);
  } else if (kind == "mlp") {
    model.shape = read_mlp(in);
  } else if (kind == "resnet") {
    model.shape = read_resnet(in);
  }
  return model;
}

ModelConfig read_either_form(ObjectReader& in, bool with_source) {
  return is_hugging_face(in.self()) ? read_hugging_face(in) : read_own_form(in, with_source);
}

}  // namespace

ModelConfig read_model(const ValueReader& value) {
  return value.object([](ObjectReader& in) { return read_either_form(in, false); });
}

ModelConfig read_model(const JsonDocument& document) {
  return read_document(document, [](ObjectReader& in) { return read_either_form(in, true); });
}

JsonValue model_schema() {
  return schema_of("model",
                   "A model by its shape: a transformer, an encoder and a decoder (T5), a vision "
                   "transformer, a diffusion transformer, an MLP or a ResNet. Hugging Face "
                   "config.json files are read too; this schema describes Lockstep's own form.",
                   [](ObjectReader& in) { return read_own_form(in, true); });
}

ModelConfig load_model(const std::filesystem::path& path) {
  return read_model(read_json(path, JsonNumbers::python));
}

std::vector<std::string> model_ids(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::string> ids;
  std::filesystem::directory_iterator at{folder, error};
  while (!error && at != std::filesystem::directory_iterator{}) {
    if (at->path().extension() == ".json") ids.push_back(at->path().stem().string());
    at.increment(error);
  }
  if (error) {
    throw ConfigError{Problem{folder.string(), {}, "", "cannot be read: " + error.message()}};
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace lockstep
