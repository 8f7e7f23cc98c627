#include "tools/lockstep/explain/explain_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostRuns = 6;  // named one by one

/// Runs that touch in one buffer, joined.
std::vector<Chunk> joined(const std::vector<Chunk>& runs) {
  std::vector<Chunk> out;
  for (const Chunk& run : runs) {
    if (run.count == 0) continue;
    if (!out.empty() && out.back().buffer == run.buffer &&
        out.back().first + out.back().count == run.first) {
      out.back().count += run.count;
    } else {
      out.push_back(run);
    }
  }
  return out;
}

std::string range(std::int64_t first, std::int64_t last) {
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

/// Runs [begin, end), all in one buffer.
std::string buffer_text(const std::vector<Chunk>& runs, std::size_t begin, std::size_t end) {
  constexpr std::array<std::string_view, 3> kPrefixes{"", "output ", "scratch "};
  std::string list;
  for (std::size_t i = begin; i < std::min(end, begin + kMostRuns); ++i)
    list += (list.empty() ? "" : ", ") + range(runs[i].first, runs[i].first + runs[i].count - 1);
  if (end - begin > kMostRuns) list += fmt::format(", ... ({} runs)", end - begin);
  const bool one = end - begin == 1 && runs[begin].count == 1;
  return fmt::format("{}chunk{} {}", kPrefixes.at(static_cast<std::size_t>(runs[begin].buffer)),
                     one ? "" : "s", list);
}

}  // namespace

std::string ExplainWords::auxiliary() const {
  return setting_.auxiliary_ranks == AuxiliaryRanks::hosts ? "server" : "switch";
}

std::string ExplainWords::name(int rank) const {
  if (rank < setting_.ranks) return fmt::format("rank {}", rank);
  return fmt::format("{} {}", auxiliary(), rank - setting_.ranks);
}

std::string ExplainWords::label(int rank) const {
  return rank < setting_.ranks ? std::to_string(rank) : name(rank);
}

std::string ExplainWords::names(std::vector<int> ranks) const {
  if (ranks.size() == 1) return name(ranks.front());
  std::sort(ranks.begin(), ranks.end());
  const auto split = std::lower_bound(ranks.begin(), ranks.end(), setting_.ranks);
  const auto list = [&](auto begin, auto end, int offset) {
    std::string out;
    for (auto at = begin; at != end;) {
      auto last = at;
      while (last + 1 != end && *(last + 1) == *last + 1) ++last;
      out += (out.empty() ? "" : ", ") + range(*at - offset, *last - offset);
      at = last + 1;
    }
    return out;
  };
  const auto group = [&](const std::string& noun, auto begin, auto end, int offset) {
    const std::string plural = noun == "switch" ? "switches" : noun + "s";
    return (end - begin == 1 ? noun : plural) + " " + list(begin, end, offset);
  };
  std::string out;
  if (split != ranks.begin()) out = group("rank", ranks.begin(), split, 0);
  if (split != ranks.end())
    out += (out.empty() ? "" : ", ") + group(auxiliary(), split, ranks.end(), setting_.ranks);
  return out;
}

std::string ExplainWords::chunks(const std::vector<Chunk>& runs) const {
  const std::vector<Chunk> all = joined(runs);
  if (all.empty()) return "no data";
  std::string out;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].buffer == all[begin].buffer) ++end;
    out += (out.empty() ? "" : " and ") + buffer_text(all, begin, end);
    begin = end;
  }
  return out;
}

bool ExplainWords::is_part_of(const std::vector<Chunk>& runs, int rank) const {
  const std::vector<Chunk> all = joined(runs);
  if (all.size() != 1 || rank >= setting_.ranks || setting_.chunks % setting_.ranks != 0)
    return false;
  const std::int64_t part = setting_.chunks / setting_.ranks;
  return all.front().buffer != Buffer::scratch && all.front().first == rank * part &&
         all.front().count == part;
}

std::string ExplainWords::size(std::int64_t chunks) const {
  return to_string(setting_.chunk * chunks);
}

}  // namespace lockstep::cli
