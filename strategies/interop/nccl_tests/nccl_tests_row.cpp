#include "strategies/interop/nccl_tests/nccl_tests_row.hpp"

#include <fmt/format.h>

namespace lockstep {

namespace {

constexpr std::size_t kHalf = 4;   // words of a measurement
constexpr std::size_t kFirst = 3;  // size, count, type

class RowReader {
 public:
  RowReader(const std::vector<NcclWord>& words, NcclHalves halves, const ComplainOfWord& complain)
      : words_{words}, halves_{halves}, complain_{complain} {}

  NcclRow read() {
    NcclRow out;
    const std::size_t halves = count_halves();
    if (words_.size() < kFirst + halves * kHalf || words_.size() > kFirst + 2 + halves * kHalf) {
      complain_(words_.front(), complaint_about_number());
      return out;
    }
    out.size = Bytes{whole(words_[0], "a size in bytes", 0, INT64_MAX)};
    out.count = whole(words_[1], "a number of elements", 0, INT64_MAX);
    out.type = word(words_[2], "a type such as float");
    const std::size_t first = words_.size() - halves * kHalf;
    read_redop_and_root(first - kFirst, out);
    if (halves == 2) {
      out.out_of_place = measurement(first);
      out.in_place = measurement(first + kHalf);
    } else {
      (halves_ == NcclHalves::in_place ? out.in_place : out.out_of_place) = measurement(first);
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t count_halves() const {
    if (halves_ == NcclHalves::both) return 2;
    const bool could_be_two = words_.size() >= kFirst + 2 * kHalf;
    return halves_ == NcclHalves::unknown && could_be_two ? 2 : 1;
  }

  [[nodiscard]] std::string complaint_about_number() const {
    const std::string_view numbers = halves_ == NcclHalves::both      ? "11 to 13"
                                     : halves_ == NcclHalves::unknown ? "7 to 9 or 11 to 13"
                                                                      : "7 to 9";
    return fmt::format(
        "expected a row of {} words: size, count, type, perhaps redop and root, then per half "
        "time, "
        "algbw, busbw and #wrong; got {}",
        numbers, words_.size());
  }

  /// Old versions print only what means something for the collective.
  void read_redop_and_root(std::size_t given, NcclRow& out) {
    const bool lone_root = given == 1 && whole_number(words_[kFirst].text).has_value();
    if (given > 0 && !lone_root) out.redop = word(words_[kFirst], "an operation such as sum");
    if (given == 2 || lone_root)
      out.root = static_cast<int>(whole(words_[kFirst + given - 1], "a root", -1, INT32_MAX));
  }

  /// Nothing where the collective cannot be done so.
  std::optional<NcclMeasurement> measurement(std::size_t first) {
    bool any = false;
    for (std::size_t i = first; i < first + kHalf - 1; ++i) any = any || words_[i].text != "N/A";
    if (!any) return std::nullopt;
    NcclMeasurement out;
    const double microseconds = real(words_[first], "a time in us");
    if (const auto time = from_microseconds(microseconds)) {
      out.time = *time;
    } else {
      complain_(words_[first], "a time beyond 106 days");
    }
    out.algbw_gb_per_s = real(words_[first + 1], "a bandwidth in GB/s");
    out.busbw_gb_per_s = real(words_[first + 2], "a bandwidth in GB/s");
    const NcclWord& wrong = words_[first + 3];
    if (wrong.text != "N/A") out.wrong = real(wrong, "a number of wrong elements or N/A");
    return out;
  }

  std::int64_t whole(const NcclWord& given, std::string_view expected, std::int64_t least,
                     std::int64_t most) {
    const auto value = whole_number(given.text);
    if (value && *value >= least && *value <= most) return *value;
    refuse(given, expected);
    return 0;
  }

  double real(const NcclWord& given, std::string_view expected) {
    const auto value = real_number(given.text);
    if (value && *value >= 0) return *value;
    refuse(given, expected);
    return 0;
  }

  std::string word(const NcclWord& given, std::string_view expected) {
    if (real_number(given.text)) refuse(given, expected);
    return std::string{given.text};
  }

  void refuse(const NcclWord& given, std::string_view expected) {
    complain_(given, fmt::format("expected {}, got {}", expected, in_quotes(given.text)));
  }

  const std::vector<NcclWord>& words_;
  NcclHalves halves_;
  const ComplainOfWord& complain_;
};

/// The errors that nccl-tests tolerated while it printed errors and not counts of wrong elements.
/// Source: NVIDIA/nccl-tests before its column #wrong, src/common.cu, deltaMaxValue.
double tolerance_of(std::string_view type) {
  if (type == "half" || type == "bfloat16") return 1e-2;
  if (type == "float") return 1e-5;
  if (type == "double") return 1e-12;
  return 0;
}

}  // namespace

bool NcclRow::is_valid(const std::optional<NcclMeasurement>& half) const {
  return !half || !half->wrong || *half->wrong <= tolerance_of(type);
}

NcclRow read_nccl_row(const std::vector<NcclWord>& words, NcclHalves halves,
                      const ComplainOfWord& complain) {
  return RowReader(words, halves, complain).read();
}

}  // namespace lockstep
