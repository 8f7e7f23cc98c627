#include "strategies/collectives/rows.hpp"

/// The send-receive rows in the order of the table; each stands at the end of its algorithm's file.
namespace lockstep {

CollectiveAlgorithm send_recv_shift_row();

std::vector<CollectiveAlgorithm> send_recv_rows() {
  return {
      send_recv_shift_row(),
  };
}

}  // namespace lockstep
