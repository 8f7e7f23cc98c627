#include "tests/topologies/files/schema_agreement.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "sim/config/json/config_error.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#pragma GCC diagnostic pop

namespace lockstep {

namespace {

using nlohmann::json;

std::string told(valijson::ValidationResults& results) {
  std::string out;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) out += part;
    out += ": " + error.description + "\n";
  }
  return out.empty() ? "refused" : out;
}

}  // namespace

std::string mutated(std::string_view good, const Mutation& mutation) {
  json document = json::parse(good);
  const json::json_pointer pointer{mutation.pointer};
  if (!mutation.replacement.empty()) {
    document[pointer] = json::parse(mutation.replacement);
  } else if (document.at(pointer.parent_pointer()).erase(pointer.back()) != 1) {
    throw std::runtime_error{"nothing to take away at " + mutation.pointer};
  }
  return document.dump();
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) throw std::runtime_error{"cannot read " + path.string()};
  return {std::istreambuf_iterator<char>{in}, {}};
}

SchemaAgreement::SchemaAgreement(std::filesystem::path schema,
                                 std::function<void(std::string_view)> read)
    : schema_{text_of_file(schema)}, read_{std::move(read)} {}

std::string SchemaAgreement::refusal_of_schema(std::string_view text) const {
  const json schema_document = json::parse(schema_);
  valijson::Schema schema;
  valijson::SchemaParser{}.populateSchema(valijson::adapters::NlohmannJsonAdapter{schema_document},
                                          schema);
  const json document = json::parse(text);
  valijson::Validator validator{valijson::Validator::kStrongTypes};
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target{document};
  return validator.validate(schema, target, &results) ? "" : told(results);
}

std::string SchemaAgreement::refusal_of_reader(std::string_view text) const {
  try {
    read_(text);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::string SchemaAgreement::verdict(std::string_view text) const {
  const std::string schema = refusal_of_schema(text);
  const std::string reader = refusal_of_reader(text);
  if (schema.empty() && reader.empty()) return "both accept";
  if (schema.empty()) return "only the reader refuses: " + reader;
  if (reader.empty()) return "only the schema refuses: " + schema;
  return "both refuse";
}

}  // namespace lockstep
