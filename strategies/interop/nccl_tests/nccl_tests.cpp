#include "strategies/interop/nccl_tests/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "strategies/interop/nccl_tests/nccl_tests_json.hpp"
#include "strategies/interop/nccl_tests/nccl_tests_lines.hpp"
#include "strategies/interop/nccl_tests/nccl_tests_row.hpp"
#include "strategies/interop/text/read_file.hpp"

namespace lockstep {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::size_t kMostWordsOfHalf = 9;  // of a row with one half

using Words = std::vector<NcclWord>;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

class TextReader {
 public:
  TextReader(std::string_view text, Problems& problems) : text_{text}, problems_{problems} {}

  std::vector<NcclRun> read() {
    runs_.emplace_back();
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++number_;
      is_cut_ = end == text_.size();
      line_ = plain_line(text_.substr(begin, end - begin), kept_);
      read_line();
      begin = end + 1;
    }
    finish();
    return std::move(runs_);
  }

 private:
  /// A run without rows has begun behind the last one's: what it skipped is that one's.
  void finish() {
    if (!run().rows.empty()) take_late_ranks();
    const bool any = std::any_of(runs_.begin(), runs_.end(),
                                 [](const NcclRun& run) { return !run.rows.empty(); });
    if (!any && !problems_.any()) problems_.note({}, "", nothing_found());
    if (!run().rows.empty()) return;
    const NcclRun last = std::move(runs_.back());
    runs_.pop_back();
    if (runs_.empty()) return;
    run().skipped_lines += last.skipped_lines;
    run().cut_row = run().cut_row || last.cut_row;
  }

  [[nodiscard]] std::string nothing_found() {
    std::string out = "there are no results of nccl-tests here";
    if (run().cut_row) return out + ": the text ends within its first row";
    if (run().skipped_lines == 0) return out;
    return out + fmt::format(", and {} line{} that {} neither of nccl-tests nor of NCCL",
                             run().skipped_lines, run().skipped_lines == 1 ? "" : "s",
                             run().skipped_lines == 1 ? "is" : "are");
  }

  void read_line() {
    const Words words = words_behind_prefixes(line_);
    if (words.empty()) return;
    if (words.front().text.front() == '#') {
      read_comment(words);
    } else if (contains(line_, "NCCL INFO") || contains(line_, "NCCL WARN")) {
      read_communicator(words);
    } else if (looks_like_row(words)) {
      add_row(words);
    } else {
      read_log_line(words);
    }
  }

  struct CutRow {
    Position at;
    std::string why;
  };

  void add_row(const Words& words) {
    refuse_cut_row();
    const bool is_shorter = words.size() < words_of_row_;
    bool right = true;
    NcclRow row = read_nccl_row(words, halves_, [&](const NcclWord& word, std::string why) {
      right = false;
      if (is_shorter) {
        cut_row_.push_back({{number_, column_of(line_, word.offset)}, std::move(why)});
      } else if (!is_cut_) {
        complain(word, std::move(why));
      }
    });
    if (!right && (is_cut_ || is_shorter)) {
      run().cut_row = true;
      return;
    }
    words_of_row_ = words.size();
    row.at = {number_, column_of(line_, words.front().offset)};
    // Rows of a run are alike: one that ends early is no row of one half.
    if (right && halves_ == NcclHalves::unknown) {
      halves_ = words.size() > kMostWordsOfHalf ? NcclHalves::both : NcclHalves::out_of_place;
    }
    run().rows.push_back(std::move(row));
  }

  /// A row that ends early is the last one that a job could write before it was ended; it is an
  /// error where the run goes on.
  void refuse_cut_row() {
    for (CutRow& each : cut_row_) problems_.note(each.at, "", std::move(each.why));
    cut_row_.clear();
  }

  /// "... comm 0x55 rank 3 nranks 16 cudaDev 3 ...". Ranks write through buffers of their own, and
  /// NCCL logs communicators that are destroyed too: behind rows such a line begins no run.
  void read_communicator(const Words& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i].text != "nranks") continue;
      const auto ranks = whole_number(words[i + 1].text);
      if (!ranks || *ranks < 1 || *ranks > INT32_MAX) continue;
      std::optional<int>& most = run().rows.empty() ? run().communicator_ranks : late_ranks_;
      most = std::max(most.value_or(0), static_cast<int>(*ranks));
    }
  }

  /// NCCL's log, the command as typed, a heading such as "NCCL:", or the shell's time.
  void read_log_line(const Words& words) {
    const std::string_view first = words.front().text;
    if (first == "rccl-tests:" || first == "nccl-tests:") return read_version(words);
    if (words.size() == 1 && first.size() > 1 && first.back() == ':') {
      begin_run();
      run().label = std::string{first.substr(0, first.size() - 1)};
      return;
    }
    for (const NcclWord& word : words) {
      const auto collective = collective_of(word.text);
      if (!collective) continue;
      begin_run();
      run().collective = *collective;
      return;
    }
    if (contains(line_, "NCCL") || contains(line_, "RCCL") || contains(line_, "nccl")) return;
    const bool time = first == "real" || first == "user" || first == "sys";
    if (!time || words.size() != 2) ++run().skipped_lines;
  }

  void read_comment(Words words) {
    words.front().text.remove_prefix(1);
    ++words.front().offset;
    if (words.front().text.empty()) words.erase(words.begin());
    if (words.empty()) return;
    const std::string_view first = words.front().text;
    if (first == "nThread") return read_options(words);
    if (first == "Rank") return read_device(words);
    if (first.starts_with("nccl-tests") || first.starts_with("rccl-tests"))
      return read_version(words);
    if (contains(line_, "ollective test starting")) return read_collective(words);
    if (contains(line_, "Avg bus bandwidth")) return read_average(words);
    read_headings();
  }

  /// "out-of-place    in-place", or one of them.
  void read_headings() {
    const bool out = contains(line_, "out-of-place");
    const bool in = contains(line_, "in-place");
    if (out || in)
      halves_ = out && in ? NcclHalves::both
                : out     ? NcclHalves::out_of_place
                          : NcclHalves::in_place;
  }

  /// "nThread 1 nGpus 8 minBytes ...".
  void read_options(const Words& words) {
    begin_run();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i].text == "nThread") run().threads = small_number(words[i + 1]);
      if (words[i].text == "nGpus") run().gpus_per_thread = small_number(words[i + 1]);
    }
  }

  /// "Rank 0 [Group 0] Pid 12345 on host device 0 [0x07] name of it".
  void read_device(const Words& words) {
    NcclDevice out;
    const auto after = [&words](std::string_view name) {
      const auto found = std::find_if(words.begin(), words.end(),
                                      [name](const NcclWord& word) { return word.text == name; });
      return found == words.end() || found + 1 == words.end() ? nullptr : &*(found + 1);
    };
    const NcclWord* rank = after("Rank");
    const NcclWord* host = after("on");
    const NcclWord* device = after("device");
    if (rank == nullptr || host == nullptr || device == nullptr)
      return complain(words.front(),
                      "expected a device such as \"Rank 0 Pid 1 on host device 0 [0x07] name\"");
    out.rank = small_number(*rank);
    out.host = std::string{host->text};
    out.device = small_number(*device);
    out.name = name_behind(words, device->offset);
    begin_run();
    run().devices.push_back(std::move(out));
  }

  /// What follows the bus id, which follows the device's number.
  [[nodiscard]] std::string name_behind(const Words& words, std::size_t device) const {
    std::size_t left = 2;
    for (const NcclWord& word : words) {
      if (word.offset <= device) continue;
      if (--left == 0)
        return std::string{line_.substr(
            word.offset, words.back().offset + words.back().text.size() - word.offset)};
    }
    return "";
  }

  /// "nccl-tests version 2.17.1 nccl-headers=22800 nccl-library=22800", "rccl-tests: Version
  /// develop:abc".
  void read_version(const Words& words) {
    begin_run();
    const bool told =
        words.size() > 2 && (words[1].text == "version" || words[1].text == "Version");
    if (told) run().version = std::string{words[2].text};
  }

  /// "Collective test starting: all_reduce_perf".
  void read_collective(const Words& words) {
    begin_run();
    if (const auto name = collective_of(words.back().text)) run().collective = *name;
  }

  /// "Avg bus bandwidth    : 41.4835".
  void read_average(const Words& words) {
    const auto value = real_number(words.back().text);
    if (value) {
      run().average_busbw_gb_per_s = value;
    } else {
      complain(words.back(), "expected a bandwidth in GB/s, got " + in_quotes(words.back().text));
    }
  }

  int small_number(const NcclWord& word) {
    const auto value = whole_number(word.text);
    if (value && *value >= 0 && *value <= INT32_MAX) return static_cast<int>(*value);
    complain(word, fmt::format("expected an integer, got {}", in_quotes(word.text)));
    return 0;
  }

  /// What comes before rows belongs to them.
  void begin_run() {
    if (run().rows.empty()) return;
    take_late_ranks();
    runs_.emplace_back();
    halves_ = NcclHalves::unknown;
    words_of_row_ = 0;
    cut_row_.clear();
  }
  void take_late_ranks() {
    if (!run().communicator_ranks) run().communicator_ranks = late_ranks_;
    late_ranks_.reset();
  }
  [[nodiscard]] NcclRun& run() { return runs_.back(); }

  void complain(const NcclWord& word, std::string message) {
    if (is_cut_) return;  // the text ends within this line
    problems_.note({number_, column_of(line_, word.offset)}, "", std::move(message));
  }

  std::string_view text_;
  Problems& problems_;
  std::vector<NcclRun> runs_;
  std::string_view line_;
  std::string kept_;     // of the line, where it is not in the text as it is
  bool is_cut_ = false;  // the text ends with this line, and not at its end
  std::uint32_t number_ = 0;
  std::size_t words_of_row_ = 0;     // of the run's last row
  std::vector<CutRow> cut_row_;      // what is wrong with the last row, where it ends early
  std::optional<int> late_ranks_{};  // as NCCL says behind rows of a run
  NcclHalves halves_ = NcclHalves::unknown;
};

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

}  // namespace

bool NcclRun::names_all_ranks() const {
  std::vector<bool> named(devices.size(), false);
  for (const NcclDevice& device : devices) {
    const auto rank = static_cast<std::size_t>(device.rank);
    if (rank >= named.size() || named[rank]) return false;
    named[rank] = true;
  }
  return !devices.empty();
}

std::vector<NcclRun> parse_nccl_tests(std::string_view text, std::string file) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  if (is_json(text)) return {parse_nccl_tests_json(text, file)};
  Problems problems{std::move(file)};
  std::vector<NcclRun> runs = TextReader(text, problems).read();
  problems.throw_if_any();
  return runs;
}

std::vector<NcclRun> read_nccl_tests(const std::filesystem::path& path) {
  return parse_nccl_tests(read_file(path, "nccl-tests output", kLargestNcclLog), path.string());
}

}  // namespace lockstep
