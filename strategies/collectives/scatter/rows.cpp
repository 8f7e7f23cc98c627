#include "strategies/collectives/rows.hpp"

namespace lockstep {

std::vector<CollectiveAlgorithm> scatter_rows() {
  return {};
}

}  // namespace lockstep
