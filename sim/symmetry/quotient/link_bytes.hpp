#pragma once

#include <vector>

#include "sim/symmetry/quotient/quotient.hpp"

namespace lockstep::fold {

/// The bytes on every link of `network`, from those that `result`, the replay of the quotient with
/// all of its links, has on links of the quotient.
[[nodiscard]] std::vector<Bytes> link_bytes_of(const Relations& relations,
                                               const Partition& partition, const Quotient& quotient,
                                               const Network& network, const ReplayResult& result);

}  // namespace lockstep::fold
