#include "sim/program/visible_keys.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace lockstep;

TEST_CASE("keys of other documents, of other chunks and outside of windows are not visible") {
  // Documents begin at 0, 3, 4, 8 and so on; tokens of them.
  const VisibleKeys visible{.documents = {3, 1, 4}};
  const std::vector<std::int64_t> begins{0, 0, 0, 3, 4, 4, 4, 4, 8, 8, 8, 11, 12};
  for (std::size_t token = 0; token < begins.size(); ++token)
    CHECK(visible.document_begin(static_cast<std::int64_t>(token)) == begins[token]);
  for (const VisibleKeys& each :
       {visible, VisibleKeys{.window = 2, .documents = {3, 1, 4}},
        VisibleKeys{.window = 3, .chunked = true, .documents = {3, 1, 4}},
        VisibleKeys{.window = 5, .chunked = true, .documents = {7, 2}}, VisibleKeys{.window = 4}}) {
    for (std::int64_t queries = 1; queries <= 40; ++queries) {
      double pairs = 0;
      std::int64_t most = 0;
      for (std::int64_t query = 0; query < queries; ++query) {
        std::int64_t keys = 0;
        for (std::int64_t key = 0; key < queries; ++key) keys += each.sees(query, key) ? 1 : 0;
        pairs += static_cast<double>(keys);
        most = std::max(most, keys);
      }
      CHECK(limited_pairs(each, queries) == pairs);
      CHECK(most_visible(each, queries) >= most);  // chunks may part the longest document
    }
  }
  // 3 + 1 + 4 and 2 of the next 3 tokens, in blocks of 2.
  CHECK(query_blocks(visible, 10, 2) == 2 + 1 + 2 + 1);
}
