#include "strategies/interop/msccl/msccl_gpu_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace lockstep {

namespace {

using Where = MscclRun::Where;
using ItemId = MscclRankBlocks::ItemId;
using Item = MscclRankBlocks::Item;
using Block = MscclRankBlocks::Block;

/// Positions in blocks, at most one a block.
using StepPositions = std::map<std::uint32_t, std::uint32_t>;

void keep_latest(StepPositions& positions, const Item& item) {
  const auto [found, added] = positions.emplace(item.block, item.position);
  if (!added) found->second = std::max(found->second, item.position);
}

bool implies(const StepPositions& positions, std::uint32_t block, std::uint32_t position) {
  const auto found = positions.find(block);
  return found != positions.end() && position <= found->second;
}

class GpuWriter {
 public:
  GpuWriter(const MscclRankBlocks& rank_blocks, const MscclPlaces& places, int rank,
            std::int64_t scratch, std::string& out)
      : blocks_{rank_blocks}, places_{places}, rank_{rank}, out_{out} {
    spare_data_ = scratch;
    spare_output_ = spare_data_ + rank_blocks.spare_data;
    deferred_ = spare_output_ + rank_blocks.spare_output;
    counts_.scratch = deferred_ + rank_blocks.deferred;
    for (const Block& block : rank_blocks.blocks) {
      staging_.push_back(counts_.scratch);
      counts_.scratch += block.staging;
    }
  }

  MscclGpuCounts write() {
    choose_dependencies();
    number_steps();
    fmt::format_to(std::back_inserter(out_),
                   "  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", rank_,
                   places_.input_chunks(), places_.output_chunks(), counts_.scratch);
    for (std::uint32_t id = 0; id < blocks_.blocks.size(); ++id) write_block(id);
    out_ += "  </gpu>\n";
    counts_.blocks = std::ssize(blocks_.blocks);
    count_channels();
    return counts_;
  }

 private:
  void choose_dependencies() {
    needed_.resize(blocks_.items.size());
    for (const Block& block : blocks_.blocks) {
      StepPositions seen;  // what the block has waited for already
      for (const ItemId id : block.items) {
        needed_[id] = needed_by(blocks_.items[id], seen);
        for (const auto& [other, position] : needed_[id]) {
          std::uint32_t& latest = seen.emplace(other, position).first->second;
          latest = std::max(latest, position);
        }
      }
    }
  }

  [[nodiscard]] StepPositions needed_by(const Item& item, const StepPositions& seen) const {
    StepPositions wanted;
    for (const ItemId id : item.after) {
      const Item& other = blocks_.items[id];
      const bool own = other.block == item.block && other.position < item.position;
      if (!own && !implies(seen, other.block, other.position)) keep_latest(wanted, other);
    }
    return without_implied(wanted);
  }

  /// What one of them waits for itself, or the steps just before it do, need not be waited for.
  [[nodiscard]] StepPositions without_implied(const StepPositions& wanted) const {
    if (wanted.size() < 2) return wanted;
    constexpr std::uint32_t kLookBack = 4;
    StepPositions implied;
    for (const auto& [block, position] : wanted) {
      const std::uint32_t first = position - std::min(position, kLookBack);
      for (std::uint32_t at = first; at <= position; ++at)
        for (const ItemId id : item_at(block, at).after) keep_latest(implied, blocks_.items[id]);
    }
    StepPositions out;
    for (const auto& [block, position] : wanted) {
      if (!implies(implied, block, position)) out.emplace(block, position);
    }
    return out;
  }

  [[nodiscard]] const Item& item_at(std::uint32_t block, std::uint32_t position) const {
    return blocks_.items[blocks_.blocks[block].items[position]];
  }

  /// Where an item's step comes to stand, and whether any waits for it.
  void number_steps() {
    number_.resize(blocks_.items.size());
    awaited_.resize(blocks_.items.size());
    for (const Block& block : blocks_.blocks) {
      std::int64_t next = 0;
      for (const ItemId id : block.items) {
        next += std::max<std::int64_t>(0, std::ssize(needed_[id]) - 1);
        number_[id] = next++;
      }
      counts_.most_steps = std::max(counts_.most_steps, next);
    }
    for (const StepPositions& needed : needed_) {
      for (const auto& [block, position] : needed)
        awaited_[blocks_.blocks[block].items[position]] = true;
    }
  }

  void write_block(std::uint32_t id) {
    const Block& block = blocks_.blocks[id];
    fmt::format_to(std::back_inserter(out_),
                   "    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", id, block.send,
                   block.receive, block.channel);
    for (const ItemId item : block.items) write_item(item);
    out_ += "    </tb>\n";
  }

  void write_item(ItemId id) {
    const StepPositions& needed = needed_[id];
    std::int64_t number = number_[id] - std::max<std::int64_t>(0, std::ssize(needed) - 1);
    for (auto dependency = needed.begin(); dependency != needed.end(); ++dependency) {
      const auto& [block, position] = *dependency;
      const std::int64_t step = number_[blocks_.blocks[block].items[position]];
      const bool last = std::next(dependency) == needed.end();
      write_step(number++, last ? blocks_.items[id] : Item{}, block, step, last && awaited_[id]);
    }
    if (needed.empty()) write_step(number, blocks_.items[id], -1, -1, awaited_[id]);
  }

  void write_step(std::int64_t number, const Item& item, std::int64_t depends_on, std::int64_t step,
                  bool awaited) {
    counts_.longest = std::max(counts_.longest, item.source.count);
    fmt::format_to(std::back_inserter(out_),
                   "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" "
                   "dstoff=\"{}\" cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
                   number, to_string(item.operation), buffer_of(item.source),
                   offset_of(item, item.source), buffer_of(item.destination),
                   offset_of(item, item.destination), item.source.count, depends_on, step,
                   awaited ? 1 : 0);
  }

  static char buffer_of(const MscclRun& run) {
    return run.where == Where::input ? 'i' : run.where == Where::output ? 'o' : 's';
  }

  [[nodiscard]] std::int64_t offset_of(const Item& item, const MscclRun& run) const {
    switch (run.where) {
      case Where::spare_data:
        return spare_data_ + run.first;
      case Where::spare_output:
        return spare_output_ + run.first;
      case Where::deferred:
        return deferred_ + run.first;
      case Where::staging:
        return staging_[item.block] + run.first;
      default:
        return run.first;
    }
  }

  void count_channels() {
    std::map<int, std::int64_t> blocks;
    for (const Block& block : blocks_.blocks) {
      counts_.most_blocks_on_channel =
          std::max(counts_.most_blocks_on_channel, ++blocks[block.channel]);
    }
  }

  const MscclRankBlocks& blocks_;
  const MscclPlaces& places_;
  int rank_;
  std::string& out_;
  std::int64_t spare_data_ = 0;  // where in scratch they begin
  std::int64_t spare_output_ = 0;
  std::int64_t deferred_ = 0;
  std::vector<std::int64_t> staging_;  // by block
  std::vector<StepPositions> needed_;  // by item
  std::vector<std::int64_t> number_;   // by item, of its step
  std::vector<bool> awaited_;          // by item
  MscclGpuCounts counts_;
};

}  // namespace

MscclGpuCounts write_msccl_gpu(const MscclRankBlocks& rank_blocks, const MscclPlaces& places,
                               int rank, std::int64_t scratch, std::string& out) {
  return GpuWriter{rank_blocks, places, rank, scratch, out}.write();
}

}  // namespace lockstep
