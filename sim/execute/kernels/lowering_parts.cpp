#include "sim/execute/kernels/lowering_parts.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace lockstep::lowering {

KernelLaunch& Lowering::add(F function, std::int64_t count, std::vector<LoweredOperand> from,
                            std::vector<LoweredOperand> results) {
  LoweredKernel kernel;
  kernel.launch = launch_of(function, count);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool own = results[i].of == LoweredOperand::Of::writes && adds_to(results[i].index);
    kernel.launch.adds |= own ? 1U << i : 0U;
  }
  kernel.reads = std::move(from);
  kernel.writes = std::move(results);
  out.kernels.push_back(std::move(kernel));
  return out.kernels.back().launch;
}

KernelLaunch& Lowering::each(F function) {
  std::vector<LoweredOperand> from;
  std::vector<LoweredOperand> results;
  for (std::size_t i = 0; i < reads.size(); ++i) from.push_back(read_number(i));
  for (std::size_t i = 0; i < writes.size(); ++i) results.push_back(written_number(i));
  return add(function, writes.at(0)->elements(), std::move(from), std::move(results));
}

LoweredOperand Lowering::scratch(std::int64_t elements) {
  return scratch(LoweredScratch{elements, computes, {}});
}

LoweredOperand Lowering::scratch(LoweredScratch of) {
  out.scratch.push_back(of);
  return {LoweredOperand::Of::scratch, out.scratch.size() - 1};
}

void Lowering::clear(LoweredOperand result) {
  if (adds_to(result.index)) return;
  add(F::fill, writes[result.index]->elements(), {}, {result}).numbers = {0};
}

std::size_t Lowering::read_at(Operand operand) const {
  const auto place = row().reads.find(operand, reads.size());
  LOCKSTEP_CHECK(place);
  return *place;
}

std::size_t Lowering::written_at(Operand operand) const {
  const auto place = row().writes.find(operand, writes.size());
  LOCKSTEP_CHECK(place);
  return *place;
}

KernelLaunch launch_of(KernelFunction function, std::int64_t count) {
  KernelLaunch out;
  out.function = function;
  out.count = count;
  return out;
}

TablePtr document_begins(const KernelSettings& call, const PartLayout& queries) {
  const VisibleKeys& visible = call.operation->visible;
  if (visible.documents.empty() && !visible.packed.any()) return nullptr;
  const PartAxis& tokens = *queries.find(Dim::sequence);
  const PartAxis* samples = queries.find(Dim::batch);
  Table out;
  for (const std::int64_t sample : samples == nullptr ? Table{0} : samples->at) {
    const std::int64_t index = call.first_sample + std::max<std::int64_t>(0, sample);
    const VisibleKeys of_sample = visible.of_sequence(index, tokens.size);
    for (const std::int64_t query : tokens.at)
      out.push_back(query < 0 ? 0 : of_sample.document_begin(query));
  }
  return std::make_shared<const Table>(std::move(out));
}

TablePtr table_of(Table places) {
  bool identity = true;
  for (std::size_t i = 0; i < places.size() && identity; ++i) {
    identity = places[i] == static_cast<std::int64_t>(i);
  }
  return identity ? nullptr : std::make_shared<const Table>(std::move(places));
}

TablePtr inverse_of(const PartAxis& axis) {
  Table out(static_cast<std::size_t>(axis.size), -1);
  for (std::size_t i = 0; i < axis.at.size(); ++i) {
    if (axis.at[i] >= 0) out[static_cast<std::size_t>(axis.at[i])] = static_cast<std::int64_t>(i);
  }
  return table_of(std::move(out));
}

std::int64_t width_of(const PartLayout& layout) {
  return layout.axes.back().length();
}

std::int64_t rows_of(const PartLayout& layout) {
  const std::int64_t width = width_of(layout);
  return width == 0 ? 0 : layout.elements() / width;
}

Table places_of_common(const PartLayout& from, const PartLayout& to) {
  std::vector<double> numbers(static_cast<std::size_t>(from.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) + 1;
  std::vector<double> found(static_cast<std::size_t>(to.elements()), 0);
  copy_common(from, numbers, to, found, false);
  Table out;
  for (const double number : found) out.push_back(std::llround(number) - 1);
  return out;
}

}  // namespace lockstep::lowering
