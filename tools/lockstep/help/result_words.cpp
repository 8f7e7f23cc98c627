#include <array>

#include "tools/lockstep/help/words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array kWords = {
    Word{"step time",
         "Simulated time of a training step. Expected time and prediction interval on hardware "
         "stand next to it, inside the validated domain.",
         "", "prediction interval, tokens/s", "step_time, expected_step_time"},
    Word{"tokens/s", "Tokens of the global batch over the step time, of all GPUs or of one.",
         "tokens/s = global batch * tokens per sequence / step time", "step time, MFU",
         "tokens_per_s, tokens_per_s_per_gpu, samples_per_s, samples/s, tokens per second, "
         "throughput"},
    Word{"FLOP/s per GPU",
         "Floating-point operations that the model needs per step, without recomputation, over "
         "step time and GPUs.",
         "", "MFU", "model_flops_per_gpu_per_s, model_flops_per_gpu"},
    Word{"training time", "Time for a budget of tokens or samples, without failures or pauses.",
         "training time = budget / (tokens/s)", "GPU-hours", "training, days, budget"},
    Word{"GPU-hours", "GPUs times the training time.", "", "training time, cost",
         "gpu_hours, gpu hours"},
    Word{
        "cost",
        "GPU-hours times the price of one (--price), and the price of the energy in addition if it "
        "is given (--price-kwh).",
        "cost = GPU-hours * price + energy * price per kWh", "GPU-hours, energy", "usd"},
    Word{"energy",
         "Power of a GPU with its share of the node (--watts) over the training, times the power "
         "usage effectiveness of the data center (--pue).",
         "energy = GPU-hours * watts / 1000 * PUE, in kWh", "cost", "energy_kwh"},
    Word{"computation",
         "Time in which kernels of the rank run; the rest of the step is exposed communication, "
         "bubble, kernel launch overhead and waiting for other ranks.",
         "", "exposed communication, bubble"},
    Word{"provenance",
         "How a value of configs is known: source_code, measured, fitted, datasheet (stated by its "
         "maker), announced or assumed. A step rests on the values that limit the operations of "
         "its critical path.",
         "", "critical path", "basis, rests on, latency_provenance, inherited"},
    Word{"pipeline fill and drain",
         "Part of the bubble that the schedule causes with equal stages: before the first backward "
         "and after the last forward pass of a stage. The rest is waiting for slower stages.",
         "(p-1)/m of the ideal time for GPipe and 1F1B, (p-1)/(v m) interleaved", "bubble",
         "fill_drain, fill and drain, pipeline fill, fill, drain, slower stages"},
    Word{"waiting for other ranks",
         "Idle time until the last participant of a collective arrives, and after the rank's last "
         "operation; other pipeline stages count as bubble.",
         "", "straggler, exposed communication", "waiting"},
    Word{"fits",
         "Whether the peak memory is within the capacity: fits; tight within the error of "
         "validated peaks; does not fit.",
         "", "peak memory", "memory_capacity, memory_margin, margin, memory verdict"},
    Word{"fidelity",
         "Which ranks are simulated: all, or representatives, one of each role, whose groups' "
         "traffic does not compete (--fidelity).",
         "", "representative, folding"},
    Word{"variant", "Named overrides of a scenario, simulated next to it.", "", "scenario"},
    Word{
        "residual",
        "What a fit does not explain: of the class that `complexity` fits, the root mean square of "
        "relative errors.",
        "", "fitted exponent, fit"},
};

}  // namespace

std::span<const Word> result_words() {
  return kWords;
}

}  // namespace lockstep::cli
