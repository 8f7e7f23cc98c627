#include <doctest/doctest.h>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Context parallelism against one device.
namespace lockstep::test {
namespace {

TEST_CASE("context parallelism computes what one device does") {
  for (const bool zigzag : {false, true}) {
    for (const ContextKind kind : {ContextKind::ring, ContextKind::ulysses, ContextKind::both}) {
      CAPTURE(zigzag);
      CAPTURE(static_cast<int>(kind));
      ParallelConfig parallel = context(kind, 4, zigzag);
      check(model_of(gpt()), parallel);
      check(model_of(llama()), parallel);  // two heads of keys and values for four ranks
      parallel.cp = 2;
      parallel.tp = 2;
      parallel.sequence_parallel = true;
      check(model_of(gpt()), parallel);
      check(model_of(llama()), parallel);
      parallel.overlap = {Overlap::cp};
      check(model_of(gpt()), parallel);
    }
  }
  TransformerConfig both_ways = gpt();
  both_ways.causal = false;
  check(model_of(both_ways), context(ContextKind::ring, 4, false));
  TransformerConfig unfused = llama();
  unfused.attention = AttentionKind::unfused;
  check(model_of(unfused), context(ContextKind::ulysses, 2, false));
}

}  // namespace
}  // namespace lockstep::test
