#include <array>

#include "tools/lockstep/help/words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array kWords = {
    Word{"algbw",
         "Algorithm bandwidth of a collective as nccl-tests defines it: the message size over the "
         "time. Compare it for one collective and one number of ranks only.",
         "algbw = S / t", "busbw, size"},
    Word{
        "busbw",
        "Bus bandwidth as nccl-tests defines it: algbw times the traffic that the collective needs "
        "per byte, so that it can be compared with the speed of a link for any number of ranks n. "
        "It is a normalization, not what a wire carried.",
        "busbw = algbw * f; f = 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter, "
        "all_to_all, scatter and gather; 1 for broadcast, reduce and send_recv",
        "algbw, bound"},
    Word{"time",
         "Simulated time of a collective, from the start of the first rank to the end of the last.",
         "", "bound, rounds"},
    Word{"size",
         "Message size as nccl-tests counts it: all parts together for all_gather, reduce_scatter, "
         "scatter and gather; what one rank sends for all_to_all and send_recv.",
         "", "count, algbw"},
    Word{"count", "Number of elements of a message of the given type.",
         "count = size / bytes of the type", "size"},
    Word{"redop", "Reduction of the collective (sum), none for collectives that only move data.",
         "", "all_reduce"},
    Word{"root",
         "Rank that sends in broadcast and scatter, and receives in reduce and gather; -1 for the "
         "other collectives.",
         "", "rank"},
    Word{"#wrong",
         "Number of elements that differ from the exact result when --check executes the schedule "
         "on "
         "real numbers; N/A without --check.",
         "", "numerical verification", "wrong"},
    Word{"rounds",
         "Length of the longest sequence of dependent messages, with one lane the number of steps "
         "of "
         "a rank. Small messages take about rounds times latency.",
         "", "latency, schedule"},
    Word{"sent/rank", "Largest number of bytes that one rank sends.", "", "busiest link",
         "sent_per_rank, sent per rank"},
    Word{"bound",
         "Lower bound: a time that no correct schedule can beat on this cluster, the largest of a "
         "latency, a bandwidth and a reduction bound.",
         "bandwidth: bytes that must cross a cut / bandwidth of the cut, maximum over cuts",
         "%bound, bound by, bisection bandwidth", "lower bound"},
    Word{"%bound", "Share of the lower bound in the simulated time: 100 is optimal.",
         "%bound = 100 * bound / time", "bound", "bound_fraction, share of bound"},
    Word{"bound by",
         "Term that the lower bound comes from: latency between the two furthest ranks that must "
         "exchange data, ports, nodes or another cut of the topology, or reductions.",
         "", "bound", "bound_by"},
    Word{"%busy",
         "Utilization of the busiest link: time that its bytes take at its full rate, over the "
         "time of the collective.",
         "%busy = 100 * bytes / (bandwidth * time)", "busiest link, limited by",
         "busiest_link_busy_fraction, utilization"},
    Word{"busiest link", "Directed link whose bytes take the longest at its full rate.", "",
         "%busy, load", "busiest_link"},
    Word{
        "limited by",
        "The busiest link with its utilization; or latency, if that link is busy for less than "
        "half "
        "of the time and the rounds, each at the latency between the two furthest ranks, take half "
        "of the time or more.",
        "", "%busy, rounds", "limited_by"},
    Word{
        "load",
        "Busiest-link load: bytes on the busiest directed link, summed over rounds, divided by the "
        "message size (--load).",
        "", "busiest link", "busiest-link load"},
    Word{"best", "Marks the fastest of several algorithms at a message size.", "", "crossover"},
    Word{"chosen",
         "What an automatic choice (auto, auto:by=nccl, auto:by=replay) picked at a size.", "",
         "NCCL's model"},
    Word{"NCCL's model",
         "Time that NCCL's own tuning model predicts for its choice; the column time is simulated.",
         "", "chosen, channel", "nccl_model, nccl model"},
    Word{"error", "Signed relative error of a simulated value.",
         "error = (simulated - measured) / measured", "bias, hold-out", "relative error"},
    Word{"bias", "Mean of signed relative errors: positive if simulated times are too long.", "",
         "error"},
    Word{"ratio", "Simulated over measured time (--against).", "ratio = simulated / measured",
         "error"},
    Word{"slowdown", "Time of a collective next to others over its time alone (--concurrent).",
         "slowdown = together / alone", "max-min fair share"},
    Word{
        "MFU",
        "Model FLOPs utilization: floating-point operations that the model needs per step, without "
        "recomputation, over what the GPUs could do at their dense peak in that time.",
        "MFU = model FLOPs / (step time * GPUs * peak)", "HFU, 6ND, recomputation", "mfu_bf16"},
    Word{"HFU",
         "Hardware FLOPs utilization: as MFU, with the operations executed again by recomputation.",
         "HFU = executed FLOPs / (step time * GPUs * peak)", "MFU, recomputation"},
};

}  // namespace

std::span<const Word> column_words() {
  return kWords;
}

}  // namespace lockstep::cli
