#include "strategies/formats/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "strategies/formats/nccl_tests_json.hpp"
#include "strategies/formats/nccl_tests_row.hpp"
#include "strategies/formats/read_file.hpp"

namespace lockstep {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

using Words = std::vector<NcclWord>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Where a line begins behind mpirun's "[1,0]<stdout>:" or srun's "0: ".
std::size_t behind_prefix(std::string_view line) {
  std::size_t at = 0;
  if (line.substr(0, 1) == "[") {
    at = line.find_first_not_of("0123456789,", 1);
    for (const std::string_view end : {"]<stdout>:", "]<stderr>:"})
      if (at != line.npos && line.substr(at, end.size()) == end) return at + end.size();
    return 0;
  }
  while (at < line.size() && is_digit(line[at])) ++at;
  return at > 0 && line.substr(at, 2) == ": " ? at + 2 : 0;
}

class TextReader {
 public:
  TextReader(std::string_view text, Problems& problems) : text_{text}, problems_{problems} {}

  std::vector<NcclRun> read() {
    runs_.emplace_back();
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++number_;
      line_ = text_.substr(begin, end - begin);
      read_line();
      begin = end + 1;
    }
    const bool any = std::any_of(runs_.begin(), runs_.end(),
                                 [](const NcclRun& run) { return !run.rows.empty(); });
    if (!any && !problems_.any()) problems_.note({}, "", "there are no results of nccl-tests here");
    if (runs_.back().rows.empty()) runs_.pop_back();
    return std::move(runs_);
  }

 private:
  void read_line() {
    const Words words = words_of(line_, behind_prefix(line_));
    if (words.empty()) return;
    if (words.front().text.front() == '#') {
      read_comment(words);
    } else if (contains(line_, "NCCL INFO") || contains(line_, "NCCL WARN")) {
      return;
    } else if (is_digit(words.front().text.front())) {
      run().rows.push_back(read_nccl_row(words, halves_, [this](const NcclWord& word, auto why) {
        complain(word, std::move(why));
      }));
      run().rows.back().at = {number_, column_of(line_, words.front().offset)};
    } else {
      read_log_line(words);
    }
  }

  /// NCCL's log, the command as typed, or a heading such as "NCCL:".
  void read_log_line(const Words& words) {
    const std::string_view first = words.front().text;
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
    complain(
        words.front(),
        fmt::format("expected a row of results, a line that begins with \"#\" or a log line of "
                    "NCCL, got {}",
                    in_quotes(first)));
  }

  void read_comment(Words words) {
    words.front().text.remove_prefix(1);
    ++words.front().offset;
    if (words.front().text.empty()) words.erase(words.begin());
    if (words.empty()) return;
    const std::string_view first = words.front().text;
    if (first == "nThread") return read_options(words);
    if (first == "Rank") return read_device(words);
    if (first == "nccl-tests" || first == "rccl-tests") return read_version(words);
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

  /// "nccl-tests version 2.17.1 nccl-headers=22800 nccl-library=22800".
  void read_version(const Words& words) {
    begin_run();
    if (words.size() > 2 && words[1].text == "version") run().version = std::string{words[2].text};
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
    complain(word, fmt::format("expected a whole number, got {}", in_quotes(word.text)));
    return 0;
  }

  /// What comes before rows belongs to them.
  void begin_run() {
    if (run().rows.empty()) return;
    runs_.emplace_back();
    halves_ = NcclHalves::unknown;
  }
  [[nodiscard]] NcclRun& run() { return runs_.back(); }

  void complain(const NcclWord& word, std::string message) {
    problems_.note({number_, column_of(line_, word.offset)}, "", std::move(message));
  }

  std::string_view text_;
  Problems& problems_;
  std::vector<NcclRun> runs_;
  std::string_view line_;
  std::uint32_t number_ = 0;
  NcclHalves halves_ = NcclHalves::unknown;
};

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

}  // namespace

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
