#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/json/config_error.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/models/files/model_file.hpp"

// config.json files of others, where they are present.
namespace lockstep {
namespace {

struct Published {
  std::string file;
  std::int64_t total = 0;
  std::int64_t active = 0;
};

std::int64_t number_in(const std::string& cell) {
  std::int64_t out = 0;
  for (const char c : cell) {
    if (c >= '0' && c <= '9') out = 10 * out + (c - '0');
  }
  return out;
}

/// Rows of the table "| file | source | total | active | ..." of the folder's README.
std::vector<Published> published(const std::filesystem::path& folder) {
  std::vector<Published> out;
  std::ifstream in{folder / "README.md"};
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    for (std::size_t at = 1; at < line.size();) {
      const std::size_t end = std::min(line.find(" |", at), line.size());
      cells.push_back(line.substr(at + 1, end > at ? end - at - 1 : 0));
      at = end + 2;
    }
    if (cells.size() < 5 || cells[0].find("--") == std::string::npos) continue;
    if (!std::filesystem::exists(folder / (cells[0] + ".json"))) continue;
    const std::int64_t total = number_in(cells[2]);
    out.push_back({cells[0], total, cells[3] == "same" ? total : number_in(cells[3])});
  }
  return out;
}

bool says(const ConfigError& error, std::string_view part) {
  return std::string_view{error.what()}.find(part) != std::string_view::npos;
}

}  // namespace

// Where files by others are present: every one that is read has the parameters that its own code
// creates, to the last one.
TEST_CASE("real files of others have their parameters") {
  const std::filesystem::path folder{std::string{LOCKSTEP_CORPUS} + "/hf-configs"};
  if (!std::filesystem::exists(folder)) return;
  int read = 0;
  for (const Published& each : published(folder)) {
    CAPTURE(each.file);
    JsonDocument document = read_json(folder / (each.file + ".json"), JsonNumbers::python);
    std::get<JsonObject>(document.root.data).push_back({"seq", {}, {{}, std::int64_t{64}}});
    try {
      const ParameterCount count = count_parameters(read_model(document));
      CHECK(count.total() == each.total);
      CHECK(count.active() == each.active);
      ++read;
    } catch (const ConfigError& error) {
      const bool says_why = says(error, "model_type") || says(error, "architectures");
      CAPTURE(error.what());
      CHECK(says_why);
    }
  }
  CHECK(read >= 60);
}

// What determines cost in a shipped model, against the real file of it where that is present: not
// only the number of parameters, which forgets windows, norms without parameters and heads.
TEST_CASE("shipped models are what the real files of them are read as") {
  const std::filesystem::path folder{std::string{LOCKSTEP_CORPUS} + "/hf-configs"};
  if (!std::filesystem::exists(folder)) return;
  const std::filesystem::path models = LOCKSTEP_SOURCE_DIR "/configs/models";
  for (const auto& [id, file] :
       {std::pair<std::string, std::string>{"mistral-7b", "mistral--mistral-7b-v0.1"},
        {"mixtral-8x22b", "mixtral--mixtral-8x22b-v0.1"},
        {"gemma2-9b", "gemma2--gemma-2-9b"},
        {"gemma3-1b", "gemma3_text--gemma-3-1b-it"},
        {"gemma3-4b", "gemma3--gemma-3-4b-it"},
        {"phi-2", "phi--phi-2"},
        {"phi-3-mini", "phi3--phi-3-mini-4k"},
        {"phi-4", "phi3--phi-4"},
        {"llama3.2-1b", "llama--llama-3.2-1b"},
        {"llama4-scout", "llama4--llama-4-scout-17b-16e"},
        {"llama4-maverick", "llama4--llama-4-maverick-17b-128e"},
        {"gpt-oss-20b", "gpt_oss--gpt-oss-20b"},
        {"gpt-oss-120b", "gpt_oss--gpt-oss-120b"},
        {"kimi-k2", "kimi_k2--kimi-k2-instruct"},
        {"glm-4.5-air", "glm4_moe--glm-4.5-air"},
        {"deepseek-moe-16b", "deepseek--deepseek-moe-16b"},
        {"deepseek-v2", "deepseek_v2--deepseek-v2"},
        {"olmo2-7b", "olmo2--olmo-2-7b"},
        {"olmo3-32b", "olmo3--olmo-3.1-32b"},
        {"falcon-40b", "falcon--falcon-40b-instruct"},
        {"starcoder2-7b", "starcoder2--starcoder2-7b"},
        {"gpt-neox-20b", "gpt_neox--gpt-neox-20b"},
        {"qwen2.5-0.5b", "qwen2--qwen2-0.5b"},
        {"qwen2.5-3b", "qwen2_5_vl--qwen2.5-vl-3b"},
        {"qwen3-0.6b", "qwen3--qwen3-0.6b"},
        {"qwen3-8b", "qwen3--qwen3-8b"},
        {"qwen3-30b-a3b", "qwen3_moe--qwen3-30b-a3b"},
        {"qwen3-235b-a22b", "qwen3_moe--qwen3-235b-a22b-fp8"}}) {
    CAPTURE(id);
    TransformerConfig ours = *load_model(models / (id + ".json")).transformer();
    JsonDocument document = read_json(folder / (file + ".json"), JsonNumbers::python);
    std::get<JsonObject>(document.root.data).push_back({"seq", {}, {{}, ours.sequence}});
    const TransformerConfig theirs = *read_model(document).transformer();
    // An inner dimension of plain MLPs that no layer has.
    bool any_plain = false;
    for (std::int64_t i = 0; i < ours.layers; ++i) any_plain = any_plain || !has_experts(ours, i);
    if (!any_plain) ours.ffn = theirs.ffn;
    CHECK(ours == theirs);
  }
}

}  // namespace lockstep
