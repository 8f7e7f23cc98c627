#include <array>

#include "tools/lockstep/help/words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array kWords = {
    Word{"calibration file",
         "JSON file of `lockstep calibrate` whose values override the shipped "
         "parameters; a machine calibration describes a single measured machine.",
         "", "fit", "machine calibration, calibration"},
    Word{"fit", "Rows that set parameters.", "", "hold-out"},
    Word{"hold-out", "Measured rows that set no parameter and show the remaining error.", "",
         "fit, error", "holdout"},
    Word{"group", "Validation rows from one source; each group counts once in overall means.", "",
         "error"},
    Word{"prediction interval",
         "Range that contains the measured value with a stated probability, from "
         "errors of similar validated runs; wider, and of no known probability, where a step is "
         "extrapolated.",
         "", "extrapolated", "step_time_low, step_time_high"},
    Word{"extrapolated", "Outside the range of the validated runs.", "", "prediction interval"},
    Word{"numerical verification",
         "Executing a schedule or strategy on real data and comparing with a "
         "reference (`lockstep verify`).",
         "", "#wrong", "verification"},
    Word{"fingerprint",
         "Hash of a result: equal inputs have equal fingerprints, and unintended changes "
         "show.",
         "", "folding"},
    Word{"folding",
         "Simulating one rank per class of indistinguishable ranks, with identical results.", "",
         "representative, class split", "fold"},
    Word{"representative",
         "Simulated member of an equivalence class; its multiplicity is the number of "
         "members it stands for.",
         "", "folding", "multiplicity"},
    Word{"class split",
         "Separating the members of an equivalence class at the first instant at which "
         "they differ.",
         "", "folding", "equitable partition"},
    Word{"override",
         "Command-line value that replaces a value of the scenario, e.g. "
         "--set parallel.tp=4.",
         "", "scenario"},
};

}  // namespace

std::span<const Word> tool_words() {
  return kWords;
}

}  // namespace lockstep::cli
