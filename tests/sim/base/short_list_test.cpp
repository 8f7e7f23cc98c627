#include "sim/base/short_list.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace lockstep {
namespace {

using List = ShortList<int, 2>;

std::vector<int> items(const List& list) {
  return {list.begin(), list.end()};
}

List counted(int count) {
  List out;
  for (int i = 0; i < count; ++i) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("a short list keeps its items in order, inside and beyond its own memory") {
  for (int count = 0; count < 10; ++count) {
    const List list = counted(count);
    CHECK(list.size() == static_cast<std::size_t>(count));
    CHECK(list.empty() == (count == 0));
    for (int i = 0; i < count; ++i) CHECK(list.begin()[i] == i);
  }
}

TEST_CASE("a copy is a list of its own, and one that was moved from is empty") {
  for (int count = 0; count < 10; ++count) {
    List list = counted(count);
    const std::vector<int> before = items(list);
    List copy = list;
    copy.push_back(-1);
    CHECK(items(list) == before);
    List other = counted(7);
    other = list;
    CHECK(items(other) == before);
    List moved = std::move(list);
    CHECK(items(moved) == before);
    CHECK(list.empty());
    list.push_back(5);
    CHECK(items(list) == std::vector<int>{5});
    other = std::move(moved);
    CHECK(items(other) == before);
  }
}

TEST_CASE("an item of a short list may be added to it again") {
  List list{1, 2};
  list.push_back(*list.begin());
  CHECK(items(list) == std::vector<int>{1, 2, 1});
  list.clear();
  CHECK(list.empty());
}

}  // namespace lockstep
