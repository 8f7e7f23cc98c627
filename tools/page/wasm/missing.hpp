#pragma once

// What libc++ 14, which emscripten 3.1.6 brings, lacks of C++20 and the engine uses; included
// before every source of the WebAssembly build, by the compiler's option -include. Names of the
// standard are added to std here and nowhere else: the page's build is the only one that sees them.
#include <algorithm>
#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

namespace std {

template <typename T, typename A>
constexpr auto operator<=>(const vector<T, A>& a, const vector<T, A>& b) -> strong_ordering {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] < b[i]) return strong_ordering::less;
    if (b[i] < a[i]) return strong_ordering::greater;
  }
  return a.size() <=> b.size();
}

template <typename C, typename T, typename A>
constexpr strong_ordering operator<=>(const basic_string<C, T, A>& a,
                                      const basic_string<C, T, A>& b) {
  return a.compare(b) <=> 0;
}

template <typename C, typename T>
constexpr strong_ordering operator<=>(basic_string_view<C, T> a, basic_string_view<C, T> b) {
  return a.compare(b) <=> 0;
}

template <typename T>
constexpr strong_ordering operator<=>(const shared_ptr<T>& a, const shared_ptr<T>& b) {
  return a.get() <=> b.get();
}

// Compares the values and not the optionals: their < would be this function again.
template <typename T>
constexpr strong_ordering operator<=>(const optional<T>& a, const optional<T>& b) {
  if (!a || !b) return a.has_value() <=> b.has_value();
  if (*a < *b) return strong_ordering::less;
  return *b < *a ? strong_ordering::greater : strong_ordering::equal;
}

template <typename Array, enable_if_t<is_unbounded_array_v<Array>, int> = 0>
shared_ptr<Array> make_shared_for_overwrite(size_t count) {
  return shared_ptr<Array>(new remove_extent_t<Array>[count]);
}

namespace ranges {

namespace projected {

/// A comparison of projected values.
template <typename Compare, typename Projection>
auto by(Compare& compare, Projection& projection) {
  return [&](auto&& a, auto&& b) -> bool {
    return std::invoke(compare, std::invoke(projection, a), std::invoke(projection, b));
  };
}

}  // namespace projected

template <typename Range, typename Predicate, typename Projection = identity>
auto find_if(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::find_if(std::begin(range), std::end(range), [&](auto&& each) -> bool {
    return std::invoke(predicate, std::invoke(projection, each));
  });
}
template <typename Range, typename Predicate, typename Projection = identity>
auto find_if_not(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::find_if_not(std::begin(range), std::end(range), [&](auto&& each) -> bool {
    return std::invoke(predicate, std::invoke(projection, each));
  });
}
template <typename Range, typename Value, typename Projection = identity>
auto find(Range&& range, const Value& value, Projection projection = {}) {
  return ranges::find_if(
      range, [&](auto&& each) -> bool { return each == value; }, projection);
}
template <typename Range, typename Predicate, typename Projection = identity>
bool any_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return ranges::find_if(range, predicate, projection) != std::end(range);
}
template <typename Range, typename Predicate, typename Projection = identity>
bool all_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return ranges::find_if_not(range, predicate, projection) == std::end(range);
}
template <typename Range, typename Predicate, typename Projection = identity>
auto count_if(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::count_if(std::begin(range), std::end(range), [&](auto&& each) -> bool {
    return std::invoke(predicate, std::invoke(projection, each));
  });
}
template <typename Range, typename Value, typename Projection = identity>
auto count(Range&& range, const Value& value, Projection projection = {}) {
  return ranges::count_if(
      range, [&](auto&& each) -> bool { return each == value; }, projection);
}
template <typename Range, typename Compare = less, typename Projection = identity>
void sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::sort(std::begin(range), std::end(range), projected::by(compare, projection));
}
template <typename Range, typename Compare = less, typename Projection = identity>
void stable_sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::stable_sort(std::begin(range), std::end(range), projected::by(compare, projection));
}
template <typename Range, typename Compare = less, typename Projection = identity>
auto max_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::max_element(std::begin(range), std::end(range), projected::by(compare, projection));
}
template <typename Range, typename Compare = less, typename Projection = identity>
auto min_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::min_element(std::begin(range), std::end(range), projected::by(compare, projection));
}
template <typename Range, typename Compare = less, typename Projection = identity>
auto min(const Range& range, Compare compare = {}, Projection projection = {}) {
  return *ranges::min_element(range, compare, projection);
}
template <typename Range, typename Compare = less, typename Projection = identity>
auto minmax_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  const auto found =
      std::minmax_element(std::begin(range), std::end(range), projected::by(compare, projection));
  struct Result {
    decltype(found.first) min, max;
  };
  return Result{found.first, found.second};
}
template <typename Range, typename Value, typename Compare = less, typename Projection = identity>
auto lower_bound(Range&& range, const Value& value, Compare compare = {},
                 Projection projection = {}) {
  return std::lower_bound(std::begin(range), std::end(range), value,
                          [&](auto&& each, const Value& wanted) -> bool {
                            return std::invoke(compare, std::invoke(projection, each), wanted);
                          });
}
template <typename Range, typename Value, typename Compare = less, typename Projection = identity>
auto upper_bound(Range&& range, const Value& value, Compare compare = {},
                 Projection projection = {}) {
  return std::upper_bound(std::begin(range), std::end(range), value,
                          [&](const Value& wanted, auto&& each) -> bool {
                            return std::invoke(compare, wanted, std::invoke(projection, each));
                          });
}
template <typename A, typename B, typename Equal = equal_to, typename First = identity,
          typename Second = identity>
bool equal(const A& a, const B& b, Equal alike = {}, First first = {}, Second second = {}) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b),
                    [&](auto&& x, auto&& y) -> bool {
                      return std::invoke(alike, std::invoke(first, x), std::invoke(second, y));
                    });
}

}  // namespace ranges

}  // namespace std

#endif
