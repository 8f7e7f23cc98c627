#include "sim/execute/device_kernels/arguments.hpp"

#include <algorithm>
#include <iterator>

#include "sim/base/check.hpp"
#include "sim/execute/device_kernels/arguments_of.hpp"

namespace lockstep::kernels {

Arguments arguments_of(const KernelLaunch& launch, const std::vector<Values>& reads,
                       const std::vector<Values>& writes) {
  Arguments out{};
  LOCKSTEP_CHECK(reads.size() <= Arguments::kReads && writes.size() <= Arguments::kWrites);
  LOCKSTEP_CHECK(launch.tables.size() <= Arguments::kTables);
  LOCKSTEP_CHECK(launch.sizes.size() <= Arguments::kSizes);
  LOCKSTEP_CHECK(launch.numbers.size() <= Arguments::kNumbers);
  std::copy(reads.begin(), reads.end(), out.in);
  std::copy(writes.begin(), writes.end(), out.out);
  std::copy(launch.sizes.begin(), launch.sizes.end(), out.size);
  std::copy(launch.numbers.begin(), launch.numbers.end(), out.number);
  for (std::size_t i = 0; i < launch.tables.size(); ++i) {
    out.table[i] = launch.tables[i] == nullptr ? nullptr : launch.tables[i]->data();
  }
  out.draw = launch.draw;
  out.adds = launch.adds;
  return out;
}

template <class Real>
BasicArguments<PlainValues<Real>> plain_arguments(const Arguments& arguments) {
  BasicArguments<PlainValues<Real>> out{};
  for (int i = 0; i < Arguments::kReads; ++i)
    out.in[i].data = static_cast<Real*>(arguments.in[i].data);
  for (int i = 0; i < Arguments::kWrites; ++i) {
    out.out[i].data = static_cast<Real*>(arguments.out[i].data);
  }
  std::copy(std::begin(arguments.table), std::end(arguments.table), out.table);
  std::copy(std::begin(arguments.size), std::end(arguments.size), out.size);
  std::copy(std::begin(arguments.number), std::end(arguments.number), out.number);
  out.draw = arguments.draw;
  out.adds = arguments.adds;
  return out;
}

template BasicArguments<PlainValues<float>> plain_arguments(const Arguments&);
template BasicArguments<PlainValues<double>> plain_arguments(const Arguments&);

}  // namespace lockstep::kernels
