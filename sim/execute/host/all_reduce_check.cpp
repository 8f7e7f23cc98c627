#include "sim/execute/host/all_reduce_check.hpp"

namespace lockstep {

AllReduceCheck check_all_reduce(const Schedule& schedule, int workers, std::int64_t count,
                                const AllReduceCheckOptions& options) {
  Contract contract = contract_of(Collective::all_reduce, schedule, workers);
  contract.result = options.result;
  return check_numbers(schedule, contract, count, {options.seed, {}, options.most_floats});
}

}  // namespace lockstep
