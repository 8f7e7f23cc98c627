// Proof that an algorithm's schedules are right.
#include <cstdio>

#include "tools/app/verify/verify_run.hpp"

int main() {
  lockstep::app::VerifyCollectiveRequest request;
  request.algorithms = lockstep::parse_specs("ring", lockstep::Collective::all_reduce).specs;
  request.ranks = {4, 5};
  const lockstep::app::VerifyCollectiveResult result = verify_collective(request);
  const lockstep::app::VerifiedSchedule* wrong = result.first_wrong();
  std::printf("%s%s\n", wrong == nullptr ? "" : wrong->problem.c_str(), result.fingerprint.c_str());
}
