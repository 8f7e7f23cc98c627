#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Holds a reader and its JSON Schema to the same judgement. In a test:
///
///   SchemaAgreement device{LOCKSTEP_SOURCE_DIR "/configs/schema/device.schema.json",
///                          [](std::string_view text) { (void)read_device(...); }};
///   CHECK(device.verdict(good) == "both accept");
///   for (const Mutation& m : kMutations) CHECK(device.verdict(mutated(good, m)) == "both refuse");
namespace lockstep {

/// One change of a good file.
struct Mutation {
  std::string name;
  std::string pointer;      // RFC 6901; its parent exists in the good file
  std::string replacement;  // JSON text; empty: the member is taken away
};

/// The changed text of a document. Throws std::exception where the pointer leads nowhere.
[[nodiscard]] std::string mutated(std::string_view good, const Mutation& mutation);

/// The whole file as text. Throws std::runtime_error where it cannot be read.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& path);

class SchemaAgreement {
 public:
  /// `read` throws ConfigError where the reader refuses the text.
  SchemaAgreement(std::filesystem::path schema, std::function<void(std::string_view)> read);

  /// "both accept", "both refuse", or who refused and why.
  [[nodiscard]] std::string verdict(std::string_view text) const;

 private:
  /// Why the schema refuses it; empty where it accepts.
  [[nodiscard]] std::string refusal_of_schema(std::string_view text) const;
  /// Why the reader refuses it; empty where it accepts.
  [[nodiscard]] std::string refusal_of_reader(std::string_view text) const;

  std::string schema_;
  std::function<void(std::string_view)> read_;
};

}  // namespace lockstep
