#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "strategies/verification/verify_strategy.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "tests/strategies/verification/small_cases.hpp"

// Whatever is combined trains as one device does that accumulates nothing, and runs as simulated.
namespace lockstep {
namespace {

/// Of the possible ones of many layouts, each changed by `change`; returns how many there were.
template <typename Change>
int check_each(const std::vector<test::RandomLayout>& layouts, VerificationOptions options,
               const Change& change) {
  options.steps = 2;
  int done = 0;
  for (const test::RandomLayout& drawn : layouts) {
    const std::optional<test::RandomLayout> layout = change(test::shrunk(drawn), done);
    if (!layout || !possible(*layout)) continue;
    const std::string text = test::to_string(*layout);
    CAPTURE(text);
    options.order_seed = static_cast<std::uint64_t>(++done);
    CHECK(verify_strategy(layout->model, layout->parallel, 8, options).problem() == "");
  }
  return done;
}

VerificationOptions on_four_nodes() {
  VerificationOptions out;
  out.stage = test::four_nodes();
  return out;
}

TEST_CASE("random layouts train as one device does, and run as simulated") {
  const auto as_drawn = [](test::RandomLayout layout, int) { return std::optional{layout}; };
  CHECK(check_each(test::random_layouts(20261123, 40), on_four_nodes(), as_drawn) >= 24);
}

TEST_CASE("random layouts of an encoder and a decoder train as one device does") {
  const auto with_encoder = [](const test::RandomLayout& layout, int) {
    return std::optional{test::encoder_decoder(layout)};
  };
  CHECK(check_each(test::random_layouts(1910, 60), on_four_nodes(), with_encoder) >= 24);
}

// The same with room for some of the visits only: most of these do not divide among ranks.
TEST_CASE("random layouts of experts with a capacity train as one device does") {
  const auto with_capacity = [](test::RandomLayout layout,
                                int done) -> std::optional<test::RandomLayout> {
    if (layout.model.transformer() == nullptr || !layout.model.transformer()->experts) return {};
    layout.parallel.capacity_factor =
        std::array{1.0, 1.25, 1.5, 2.0}[static_cast<std::size_t>(done % 4)];
    return layout;
  };
  CHECK(check_each(test::random_layouts(17, 90), {}, with_capacity) >= 12);
}

// More shards than a tensor has elements leave ranks with nothing but padding.
TEST_CASE("shards of nothing but padding are shards too") {
  TransformerConfig shape;
  shape.layers = 1;
  shape.hidden = 8;
  shape.heads = 2;
  shape.sequence = 4;
  shape.vocabulary = 5;
  for (const int zero : {1, 2, 3}) {
    for (const int dp : {5, 6, 8, 11, 16}) {
      CAPTURE(zero);
      CAPTURE(dp);
      ParallelConfig parallel;
      parallel.dp = dp;
      parallel.zero = zero;
      parallel.global_batch = 2L * dp;
      VerificationOptions options;
      options.steps = 2;
      CHECK(verify_strategy(test::transformer(shape), parallel, 8, options).problem() == "");
    }
  }
}

}  // namespace
}  // namespace lockstep
