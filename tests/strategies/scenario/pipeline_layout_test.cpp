#include "strategies/scenario/parallel/pipeline_layout.hpp"

#include <doctest/doctest.h>

namespace lockstep {
namespace {

[[nodiscard]] std::vector<int> layers(std::string_view text) {
  const auto read = read_pipeline_layout(text);
  const auto* out = std::get_if<PipelineLayout>(&read);
  REQUIRE(out != nullptr);
  return out->layers;
}

[[nodiscard]] std::string problem(std::string_view text) {
  const auto read = read_pipeline_layout(text);
  const auto* out = std::get_if<std::string>(&read);
  return out == nullptr ? "" : *out;
}

}  // namespace

TEST_CASE("layouts as in Megatron-Core's documentation") {
  // megatron/training/arguments.py, help of --pipeline-model-parallel-layout.
  CHECK(layers("E|(t|)*3,t|t||L") == std::vector{0, 1, 1, 1, 1, 1, 0, 0});
  CHECK(layers("Ettt|tttt|tttL") == std::vector{3, 4, 3});
  CHECK(layers("Et*3|(tt|)*29,t|L") == [] {
    std::vector<int> out(32, 2);
    out.front() = 3;
    out[30] = 1;
    out[31] = 0;
    return out;
  }());
  CHECK(layers("E(t*2|)*2 tL") == std::vector{2, 2, 1});
  CHECK(layers("EL") == std::vector{0});
  CHECK(layers("Ett|tt|mL") == std::vector{2, 2, 0});
  const auto two = read_pipeline_layout("Et|t,m*2,L");
  REQUIRE(std::holds_alternative<PipelineLayout>(two));
  CHECK(std::get<PipelineLayout>(two).predictions == 2);
}

TEST_CASE("what is no layout is refused with the reason") {
  CHECK(problem("Ett|tt").find("the loss, L, stands once") == 0);
  CHECK(problem("tt|ttL").find("the embedding, E, stands once") == 0);
  CHECK(problem("Ett|E|ttL").find("the embedding, E") == 0);
  CHECK(problem("E(tt|ttL") == "a parenthesis is not closed");
  CHECK(problem("Ett)|ttL") == "a parenthesis closes what none opened");
  CHECK(problem("Ett*|ttL") == "* is followed by how often, a positive integer");
  CHECK(problem("Et*0|ttL") == "* is followed by how often, a positive integer");
  CHECK(problem("Exx|L") == "\"x\" is none of E, t, m, L, |, parentheses and *N");
  CHECK(problem("Etm|tL").find("m: layers of multi-token prediction") == 0);
  CHECK(problem("Et|mtL").find("m: layers of multi-token prediction") == 0);
  CHECK(problem("E((t*1000)*1000)*1000L") == "more than 100000 letters");
  CHECK(problem("").find("the embedding") == 0);
}

}  // namespace lockstep
