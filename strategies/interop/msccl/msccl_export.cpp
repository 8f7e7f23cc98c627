#include "strategies/interop/msccl/msccl_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "sim/execute/schedule/step_problem.hpp"
#include "sim/execute/schedule_checks/resources.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "strategies/interop/msccl/msccl_collective.hpp"
#include "strategies/interop/msccl/msccl_gpu_text.hpp"

namespace lockstep {

namespace {

/// What MSCCL's interpreter takes (msccl-executor-nccl, src/include/msccl/msccl_struct.h).
constexpr std::int64_t kMostSteps = 256;   // of a tb
constexpr std::int64_t kMostBlocks = 216;  // of a GPU
constexpr std::int64_t kMostBlocksOnChannel = 32;
constexpr std::int64_t kMostCount = 71;  // chunks of a step

/// XML attributes hold no quotes, brackets or control characters of their own.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

template <class Message>
void count_messages(const std::vector<Message>& messages,
                    std::map<std::pair<int, int>, int>& count) {
  count.clear();
  for (const Message& message : messages) ++count[{message.peer, message.channel}];
}

int largest(const std::map<std::pair<int, int>, int>& count) {
  int most = 1;
  for (const auto& [connection, messages] : count) most = std::max(most, messages);
  return most;
}

/// The most messages that one step has for one connection.
int width_of(const Schedule& schedule) {
  int width = 1;
  ScheduleStep step;
  std::map<std::pair<int, int>, int> count;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
        step.clear();
        schedule.step(rank, lane, i, step);
        if (step.sends.size() > 1) {
          count_messages(step.sends, count);
          width = std::max(width, largest(count));
        }
        if (step.receives.size() > 1) {
          count_messages(step.receives, count);
          width = std::max(width, largest(count));
        }
      }
    }
  }
  return width;
}

class Exporter {
 public:
  Exporter(const Schedule& schedule, const MscclExportOptions& options)
      : schedule_{schedule},
        options_{options},
        contract_{contract_of(options.collective, schedule, options.ranks, options.root,
                              options.distance)},
        places_{contract_} {}

  MscclExport run() {
    out_.problem = problem_with_shape();
    if (out_.problem.empty()) write_gpus();
    if (!out_.problem.empty()) return {{}, std::move(out_.problem), {}};
    out_.text = header() + gpus_ + "</algo>\n";
    if (orders_additions_) check_end();
    if (!out_.problem.empty()) return {{}, std::move(out_.problem), {}};
    warn();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string problem_with_shape() const {
    if (schedule_.ranks() > options_.ranks) {
      return fmt::format(
          "{} of its {} ranks are helpers, such as servers or switches, which "
          "MSCCL does not have",
          schedule_.ranks() - options_.ranks, schedule_.ranks());
    }
    const auto collective = options_.collective;
    const bool parts = begins_with_part(collective) || ends_with_part(collective) ||
                       collective == Collective::all_to_all;
    if (parts && schedule_.blocks() % options_.ranks != 0) {
      return fmt::format("its {} blocks cannot be divided equally over {} ranks",
                         schedule_.blocks(), options_.ranks);
    }
    return too_many_chunks(schedule_.blocks());
  }

  static std::string too_many_chunks(std::int64_t chunks) {
    if (chunks <= kMostMscclChunks) return {};
    return fmt::format("a buffer of {} chunks is longer than {}", chunks, kMostMscclChunks);
  }

  void write_gpus() {
    const int width = width_of(schedule_);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const MscclRankBlocks rank_blocks = msccl_rank_blocks(schedule_, places_, rank, width);
      out_.problem = rank_blocks.problem;
      if (!out_.problem.empty()) return;
      const MscclGpuCounts counts =
          write_msccl_gpu(rank_blocks, places_, rank, schedule_.scratch_blocks(rank), gpus_);
      add(rank_blocks, counts);
      out_.problem = too_many_chunks(counts.scratch);
      if (channels_ > kMostChannels)
        out_.problem = fmt::format("{} channels are more than {}", channels_, kMostChannels);
      if (gpus_.size() > kLargestXml) out_.problem = "the program is longer than 64 MiB";
      if (!out_.problem.empty()) return;
    }
  }

  /// An order of additions that no rank could know to be impossible shows when it is tried.
  void check_end() {
    const MscclImport read = parse_msccl(out_.text, "");
    if (!check_resources(*read.schedule, contract_).ends())
      out_.problem = "its lanes add to the same blocks in an order that MSCCL cannot keep";
  }

  void add(const MscclRankBlocks& rank_blocks, const MscclGpuCounts& counts) {
    most_.blocks = std::max(most_.blocks, counts.blocks);
    most_.most_steps = std::max(most_.most_steps, counts.most_steps);
    most_.most_blocks_on_channel =
        std::max(most_.most_blocks_on_channel, counts.most_blocks_on_channel);
    most_.longest = std::max(most_.longest, counts.longest);
    orders_additions_ = orders_additions_ || rank_blocks.orders_additions;
    for (const MscclRankBlocks::Block& block : rank_blocks.blocks)
      channels_ = std::max(channels_, block.channel + 1);
  }

  [[nodiscard]] std::string header() const {
    std::string out = fmt::format(
        "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" "
        "coll=\"{}\" inplace=\"{}\" outofplace=\"{}\"",
        escaped(options_.name), escaped(options_.protocol), channels_, schedule_.blocks(),
        options_.ranks, msccl_name_of(options_.collective), places_.in_place() ? 1 : 0,
        places_.in_place() ? 0 : 1);
    if (has_root(options_.collective)) out += fmt::format(" root=\"{}\"", options_.root);
    if (!msccl_collective(msccl_name_of(options_.collective)))
      out += fmt::format(" collective=\"{}\"", to_string(options_.collective));
    if (options_.collective == Collective::send_recv)
      out += fmt::format(" distance=\"{}\"", options_.distance);
    return out + fmt::format(" slots=\"{}\">\n", schedule_.slots());
  }

  void warn() {
    struct Limit {
      std::string_view what;
      std::int64_t has;
      std::int64_t most;
    };
    for (const auto& [what, has, most] : std::array{
             Limit{"steps in a tb", most_.most_steps, kMostSteps},
             Limit{"tbs on a GPU", most_.blocks, kMostBlocks},
             Limit{"tbs on a channel of a GPU", most_.most_blocks_on_channel, kMostBlocksOnChannel},
             Limit{"chunks in a step", most_.longest, kMostCount},
         }) {
      if (has <= most) continue;
      out_.warnings.push_back(
          fmt::format("there are up to {} {}; MSCCL takes at most {}", has, what, most));
    }
  }

  const Schedule& schedule_;
  const MscclExportOptions& options_;
  Contract contract_;
  MscclPlaces places_;
  std::string gpus_;
  MscclGpuCounts most_;
  int channels_ = 1;
  bool orders_additions_ = false;
  MscclExport out_;
};

}  // namespace

MscclExport write_msccl(const Schedule& schedule, const MscclExportOptions& options) {
  return Exporter{schedule, options}.run();
}

}  // namespace lockstep
