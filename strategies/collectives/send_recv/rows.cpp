#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/send_recv/algorithms.hpp"

namespace lockstep {

std::vector<CollectiveAlgorithm> send_recv_rows() {
  return {
      {.collective = Collective::send_recv,
       .name = "shift",
       .summary = "everyone sends to the rank `distance` ahead, receives from as far behind",
       .parameters = {{.name = "distance",
                       .meaning = "ranks from sender to receiver, round the cycle of n",
                       .fallback = 1}},
       .limits = rows::kAnyRanks,
       .rounds = "1",
       .sent_per_rank = "S",
       .time = "alpha + S*beta",
       .example = "shift:distance=4",
       .source = "NVIDIA nccl-tests, src/sendrecv.cu",
       .file = "shift.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return send_recv::make_shift(input.n, rows::number(input, "distance"));
           },
       .cost =
           [](const AlgorithmInput& input) {
             return send_recv::shift_cost(input.n, rows::number(input, "distance"));
           }},
  };
}

}  // namespace lockstep
