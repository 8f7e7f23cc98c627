#include "sim/program/kernel/attention_loads.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"
#include "sim/program/kernel/kernel_traffic.hpp"

namespace lockstep {

namespace {

/// The sum of q + 1 for all q from `first` to before `last`.
double sum_up(std::int64_t first, std::int64_t last) {
  return static_cast<double>(last - first) * static_cast<double>(first + last + 1) / 2;
}

/// Pairs of queries `first` to before `last` of a document with the keys from `begin` to before
/// `end`: query q sees those up to its own.
double pairs_below(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end) {
  first = std::max(first, begin);
  if (first >= last || begin >= end) return 0;
  const std::int64_t diagonal = std::clamp(end, first, last);  // later queries see all keys
  return sum_up(first - begin, diagonal - begin) +
         static_cast<double>(last - diagonal) * static_cast<double>(end - begin);
}

/// Begins of the documents of a sequence, and its end.
std::vector<std::int64_t> begins_of(const VisibleKeys& visible, std::int64_t tokens) {
  std::vector<std::int64_t> out{0};
  if (!visible.documents.empty()) {
    for (std::size_t i = 0; out.back() + visible.documents[i] < tokens;
         i = (i + 1) % visible.documents.size())
      out.push_back(out.back() + visible.documents[i]);
  }
  out.push_back(tokens);
  return out;
}

}  // namespace

std::optional<AttentionLoads> AttentionLoads::of(const Program& program,
                                                 const Operation& operation) {
  if (row_of(operation.kind).work != WorkRule::attention || !operation.causal) return std::nullopt;
  const VisibleKeys& visible = operation.visible;
  if (visible.documents.empty() && !visible.packed.any()) return std::nullopt;
  AttentionLoads out{program, operation};
  if (visible.packed.any()) return out;
  const bool one_document = visible.documents.front() >= out.sequence_.size;
  if (out.parts_ == 1 || one_document) return std::nullopt;
  return out;
}

AttentionLoads::AttentionLoads(const Program& program, const Operation& operation)
    : program_{&program}, operation_{&operation} {
  const Tensor& q = tensor_of(program, read_of(operation, Operand::q));
  const Tensor& k = tensor_of(program, read_of(operation, Operand::k));
  if (const Extent* found = find_extent(q, Dim::batch)) batch_ = *found;
  if (const Extent* found = find_extent(q, Dim::sequence)) sequence_ = *found;
  const Extent* keys = find_extent(k, has_dim(k, Dim::keys) ? Dim::keys : Dim::sequence);
  whole_keys_ = keys == nullptr || keys->shards.empty() || program.mesh.size(keys->shards) == 1;
  if (const Extent* found = find_extent(q, Dim::heads)) heads_ = local_size(program.mesh, *found);
  batches_ = program.mesh.size(batch_.shards);
  parts_ = program.mesh.size(sequence_.shards);
}

int AttentionLoads::place_of(int rank) const {
  return program_->mesh.coordinate(rank, batch_.shards) * parts_ +
         program_->mesh.coordinate(rank, sequence_.shards);
}

std::vector<AttentionLoads::Run> AttentionLoads::runs_of(int part) const {
  const std::int64_t size = sequence_.size;
  const auto run = [&](std::int64_t index, std::int64_t length) {
    return Run{std::min(index * length, size), std::min((index + 1) * length, size)};
  };
  if (!sequence_.zigzag || parts_ == 1) return {run(part, ceil_div<std::int64_t>(size, parts_))};
  const std::int64_t length = ceil_div<std::int64_t>(size, 2 * std::int64_t{parts_});
  return {run(part, length), run(2 * std::int64_t{parts_} - 1 - part, length)};
}

std::vector<AttentionLoads::Run> AttentionLoads::keys_of(int part) const {
  if (whole_keys_) return {{0, sequence_.size}};
  return runs_of((part + parts_ - operation_->ring_offset % parts_) % parts_);
}

void AttentionLoads::add_sequence(const VisibleKeys& visible,
                                  const std::vector<std::int64_t>& begins,
                                  const std::vector<Run>& queries, const std::vector<Run>& keys,
                                  MaskedAttention& out) const {
  const bool windowed = visible.window > 0 && visible.window < sequence_.size;
  LOCKSTEP_CHECK(!windowed || whole_keys_);
  for (const Run& run : queries) {
    auto next = std::upper_bound(begins.begin(), begins.end(), run.begin);
    for (std::int64_t first = run.begin; first < run.end; ++next) {
      const std::int64_t last = std::min(run.end, *next);
      const std::int64_t document = *(next - 1);
      double pairs = 0;
      std::int64_t most = 0;  // of the last query, which sees most
      for (const Run& part : keys) {
        const std::int64_t begin = std::max(part.begin, document);
        pairs += pairs_below(first, last, begin, part.end);
        most += std::max<std::int64_t>(0, std::min(last, part.end) - begin);
      }
      if (windowed) {
        pairs = pairs_in_document(visible, document, last - document) -
                pairs_in_document(visible, document, first - document);
        most = std::min(most, visible.window);
      }
      if (pairs > 0) {
        out.runs.push_back(last - first);
        out.pairs += pairs;
        out.most_keys = std::max(out.most_keys, most);
        out.queries += static_cast<double>(last - first);
        out.keys += static_cast<double>(most);
      }
      first = last;
    }
  }
}

std::vector<MaskedAttention> AttentionLoads::loads(int microbatch) const {
  MaskedAttention none;
  none.heads = heads_;
  std::vector<MaskedAttention> out(static_cast<std::size_t>(places()), none);
  const std::int64_t local = ceil_div<std::int64_t>(batch_.size, batches_);
  for (std::int64_t sample = 0; sample < batch_.size; ++sample) {
    const std::int64_t index = std::int64_t{microbatch} * batch_.size + sample;
    const VisibleKeys visible = operation_->visible.of_sequence(index, sequence_.size);
    const std::vector<std::int64_t> begins = begins_of(visible, sequence_.size);
    for (int part = 0; part < parts_; ++part)
      add_sequence(visible, begins, runs_of(part), keys_of(part),
                   out[static_cast<std::size_t>(sample / local * parts_ + part)]);
  }
  return out;
}

}  // namespace lockstep
