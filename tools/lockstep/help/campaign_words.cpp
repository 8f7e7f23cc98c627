#include <array>

#include "tools/lockstep/help/words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array kWords = {
    Word{"MTBF",
         "Mean time between failures: of a unit (GPU, node, switch), or of the job, which fails as "
         "often as all its units together.",
         "MTBF of the job = 1 / sum over causes (units / MTBF of a unit)", "goodput, hot spare",
         "mtbf_s, mean time between failures"},
    Word{"MTTR",
         "Mean time to recovery: from a failure to training, with detection, hardware, restart, "
         "start-up and restore.",
         "", "MTBF, badput", "restart_s, mean time to recovery"},
    Word{"goodput",
         "Fraction of the wall time of a training that steps take whose work is kept, at the pace "
         "without failures and stragglers.",
         "goodput = productive training / wall time", "badput, MTBF",
         "ETTR, effective training time, goodput_fraction"},
    Word{"badput",
         "Wall time that is not goodput, in 11 kinds: start-up (four kinds), stalls of data "
         "loading, saves, restores, wasted progress, infrastructure recovery, custom (planned "
         "maintenance) and other (slow GPUs, missing replicas).",
         "wall time = productive training + badput", "goodput, checkpoint interval",
         "totals_us, wasted progress, infrastructure recovery"},
    Word{"checkpoint interval",
         "Training time between two saves. Short ones stall training by saves, long ones lose more "
         "of it in a failure; around the optimum the loss is flat.",
         "Young: sqrt(2 C M); Daly: sqrt(2 C (M + R)); exact: M (1 + W(-exp(-1 - C/M))), with C "
         "the stall of a save, M the MTBF, R the time to restart",
         "MTBF, goodput", "interval_s, Young, Daly, checkpoint period, period_s"},
    Word{"hot spare",
         "Policy after a failure: a spare node replaces the failed one, which comes back from "
         "repair as a spare. rollback waits for the repair; ragged_continue goes on without the "
         "data-parallel replicas that were hit.",
         "", "MTBF, goodput", "hot_spare, rollback, ragged_continue, ragged continue, spares"},
    Word{"common random numbers",
         "Every unit fails at the same instants in all layouts and policies that are compared, so "
         "that differences are not noise.",
         "", "replicate, goodput"},
    Word{"replicate",
         "One simulated training with its own random failures (`lockstep campaign --replicates`). "
         "P10, median and P90 are over replicates.",
         "", "common random numbers", "replicates, campaign, P10, P90"},
};

}  // namespace

std::span<const Word> campaign_words() {
  return kWords;
}

}  // namespace lockstep::cli
