#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"
#include "sim/config/json/json_values.hpp"
#include "strategies/models/files/model_file.hpp"
#include "strategies/scenario/scenario_model.hpp"
#include "strategies/scenario/without_effect/without_effect.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

/// `documents` of a model: lengths, a list of lengths for each sequence, or drawn.
namespace lockstep {
namespace {

constexpr std::int64_t kTokens = 64;

std::string model_with(std::string_view documents, std::string_view more = "") {
  return R"({"name": "m", "source": "s", "layers": 1, "hidden": 8, "heads": 2, "seq": 64,)" +
         std::string{more} + "\n\"documents\": " + std::string{documents} + "}";
}

TransformerConfig read(std::string_view documents) {
  return *read_model(parse_json(model_with(documents), "m.json")).transformer();
}

/// Without what is the same in all of them.
std::string error_of(std::string_view documents, std::string_view more = "") {
  try {
    (void)read_model(parse_json(model_with(documents, more), "m.json"));
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    const std::string_view begin = "m.json:2:";
    const std::string_view end = "\n1 error; nothing was run";
    REQUIRE(text.starts_with(begin));
    REQUIRE(text.ends_with(end));
    return text.substr(begin.size(), text.size() - begin.size() - end.size());
  }
  return "accepted";
}

}  // namespace

TEST_CASE("documents that cannot be are refused once, with place, value and what is allowed") {
  struct Row {
    std::string documents;
    std::string error;
  };
  const std::string kinds =
      "expected an array of lengths, an array of such arrays, or an object with a distribution";
  const std::string tokens = "expected an integer from 1 to 16777216, got ";
  // Columns counted in the second line of the model: its value begins at 14.
  for (const Row& row : std::vector<Row>{
           {R"("foo")", "14: error: /documents: " + kinds + R"(, got "foo")"},
           {"3", "14: error: /documents: " + kinds + ", got the number 3"},
           {"true", "14: error: /documents: " + kinds + ", got true"},
           {"null", "14: error: /documents: " + kinds + ", got null"},
           {"[0]", "15: error: /documents/0: " + tokens + "the number 0"},
           {"[8, 1.5]", "18: error: /documents/1: " + tokens + "the number 1.5"},
           {"[16777217]", "15: error: /documents/0: " + tokens + "the number 16777217"},
           {R"(["a"])", R"(15: error: /documents/0: )" + tokens + R"("a")"},
           {"[[]]", "15: error: /documents/0: expected at least 1 element, got 0"},
           {"[[1], [2, 0]]", "24: error: /documents/1/1: " + tokens + "the number 0"},
           {"[[[1]]]", "16: error: /documents/0/0: " + tokens + "an array"},
           {"[1, [2]]",
            "14: error: /documents: expected lengths, or a list of lengths for each of several "
            "sequences, not both"},
           {"{}", R"(14: error: /documents: the key "distribution" is missing)"},
           {R"({"distribution": "normal"})",
            R"(31: error: /documents/distribution: no distribution named "normal"; did you mean )"
            R"("lognormal"?)"},
           {R"({"distribution": "uniform"})",
            "14: error: /documents: uniform lengths need longest"},
           {R"({"distribution": "lognormal"})",
            "14: error: /documents: lognormal lengths need mean"},
           {R"({"distribution": "uniform", "longest": 4, "sigma": 1})",
            "65: error: /documents/sigma: uniform lengths have shortest and longest"},
           {R"({"distribution": "lognormal", "mean": 4, "shortest": 1, "longest": 4})",
            "67: error: /documents/shortest: lognormal lengths have mean and sigma"},
           {R"({"distribution": "uniform", "shortest": 5, "longest": 4})",
            "68: error: /documents/longest: less than the shortest, 5"},
           {R"({"distribution": "lognormal", "mean": 0.5})",
            "52: error: /documents/mean: expected a number from 1 to 16777216, got the number 0.5"},
           {R"({"distribution": "lognormal", "mean": 5, "sigma": 11})",
            "64: error: /documents/sigma: expected a number from 0 to 10, got the number 11"},
           {R"({"distribution": "lognormal", "mean": 5, "seed": -1})",
            "63: error: /documents/seed: expected an integer of at least 0, got the number -1"},
           {R"({"distribution": "lognormal", "mean": 5, "deviation": 1})",
            R"(55: error: /documents/deviation: unknown key "deviation"; allowed are )"
            R"("distribution", "shortest", "longest", "mean", "sigma", "seed")"},
       }) {
    CAPTURE(row.documents);
    CHECK(error_of(row.documents) == row.error);
  }
  CHECK(error_of("[[4]]", R"("causal": false,)") ==
        "14: error: /documents: documents are packed for causal attention alone");
}

TEST_CASE("the schema of documents refuses what the reader refuses, as far as a schema can") {
  const SchemaAgreement schema{
      LOCKSTEP_SOURCE_DIR "/configs/schema/model.schema.json",
      [](std::string_view text) { (void)read_model(parse_json(text, "m.json")); }};
  for (const char* documents :
       {R"("foo")", "3", "null", "[0]", "[8, 1.5]", "[[]]", "[[[1]]]", "{}",
        R"({"distribution": "normal"})", R"({"distribution": "uniform", "longest": 0})",
        R"({"distribution": "lognormal", "mean": 5, "sigma": 11})",
        R"({"distribution": "lognormal", "mean": 5, "deviation": 1})"}) {
    CAPTURE(documents);
    CHECK(schema.verdict(model_with(documents)) == "both refuse");
  }
  for (const char* documents :
       {"[]", "[8]", "[[8, 3], [64]]", R"({"distribution": "uniform", "longest": 4})",
        R"({"distribution": "lognormal", "mean": 5, "seed": 3})"}) {
    CAPTURE(documents);
    CHECK(schema.verdict(model_with(documents)) == "both accept");
  }
}

TEST_CASE("documents that were read and printed are read as the same") {
  for (const char* documents :
       {"[]", "[8]", "[8, 3, 100]", "[[8, 3], [64], [1]]", "[[64]]",
        R"({"distribution": "uniform", "longest": 40})",
        R"({"distribution": "uniform", "shortest": 3, "longest": 40, "seed": 9223372036854775807})",
        R"({"distribution": "lognormal", "mean": 12.25})",
        R"({"distribution": "lognormal", "mean": 0.1e2, "sigma": 0.3, "seed": 5})"}) {
    CAPTURE(documents);
    const ModelConfig first = read_model(parse_json(model_with(documents), "m.json"));
    const std::string printed = json_text(json_of(first));
    const ModelConfig again = read_model(parse_json(printed, "printed.json"));
    CHECK(again.transformer()->documents == first.transformer()->documents);
    CHECK(again.transformer()->packed == first.transformer()->packed);
    CHECK(json_text(json_of(again)) == printed);
  }
  const TransformerConfig drawn = read(R"({"distribution": "lognormal", "mean": 12.25})");
  CHECK(drawn.packed.drawn == DocumentDraw{DocumentDraw::Kind::lognormal, 1, 1, 12.25, 1, 0});
}

TEST_CASE("sequences of one document each are reported to be without documents") {
  const auto reported = [](const char* documents) {
    const ModelConfig model = read_model(parse_json(model_with(documents), "m.json"));
    for (const WithoutEffect& each : model_values_without_effect(model))
      if (each.key == "model.documents") return true;
    return false;
  };
  for (const char* documents : {"[64]", "[65, 3]", "[[64], [100, 2]]",
                                R"({"distribution": "uniform", "shortest": 64, "longest": 70})",
                                R"({"distribution": "lognormal", "mean": 64, "sigma": 0})"}) {
    CAPTURE(documents);
    CHECK(reported(documents));
    // What is drawn says the same.
    const TransformerConfig model = read(documents);
    if (model.packed.any())
      for (const std::int64_t sequence : {0, 1, 77})
        CHECK(model.packed.of_sequence(sequence, kTokens).front() >= kTokens);
  }
  for (const char* documents :
       {"[63]", "[[64], [63]]", R"({"distribution": "uniform", "shortest": 63, "longest": 70})",
        R"({"distribution": "lognormal", "mean": 63, "sigma": 0})",
        R"({"distribution": "lognormal", "mean": 640, "sigma": 0.1})"}) {
    CAPTURE(documents);
    CHECK_FALSE(reported(documents));
  }
}

}  // namespace lockstep
