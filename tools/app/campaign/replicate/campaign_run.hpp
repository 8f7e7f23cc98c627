#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/app/campaign/replicate/fleet.hpp"
#include "tools/app/campaign/replicate/pace.hpp"
#include "tools/app/campaign/replicate/replicate.hpp"

namespace lockstep::app {

/// One simulated campaign, act by act: each is training until something happens, or time without
/// training (a failure, a restart, maintenance). Between two acts only training depends on other
/// jobs, so that several can be simulated next to each other.
class CampaignRun {
 public:
  CampaignRun(const CampaignJob& job, std::uint64_t replicate, EventTrace& failures,
              SparePool& spares);

  [[nodiscard]] bool finished() const {
    return done_ || now_ >= job_.horizon || now_ >= job_.give_up;
  }
  [[nodiscard]] LongTime now() const { return now_; }
  /// Whether the next act is training.
  [[nodiscard]] bool would_train();
  /// Whether the last one was.
  [[nodiscard]] bool trained() const { return trained_; }
  /// Training from now on does not stop before; if would_train().
  [[nodiscard]] LongTime next_stop();
  /// Training ends at `limit` at the latest, or when a save that it begins is done; it is slower by
  /// `traffic` than alone.
  void act(LongTime limit = LongTime::never(), SlowdownSteps traffic = 0);
  /// When finished.
  [[nodiscard]] Replicate result();
  /// Numbers of the failures in the trace that stopped it.
  [[nodiscard]] const std::vector<std::size_t>& stops() const { return stops_; }

 private:
  /// A restart in progress.
  struct Restart {
    bool full = false;  // with startup and restore; else the others go on after a pause
    LongTime detected{};
    LongTime ready{};  // the hardware
    bool swap = false;
    LongTime restart{};
  };
  struct PendingSave {
    LongTime progress{};
    LongTime durable_at{};
  };

  [[nodiscard]] LongTime hard_limit();
  void book(TimeBucket bucket, LongTime time);
  bool spend(TimeBucket bucket, LongTime time);
  bool spend_until(TimeBucket bucket, LongTime at);

  void fail();
  [[nodiscard]] LongTime return_time(const JobCause& cause) const;
  void roll_back(const JobCause& cause, const UnitEvent& event);
  bool restart_once();
  bool start_up();
  bool restore();
  bool maintain();
  bool save_now();

  void settle_saves();
  bool save();
  void train(LongTime work, LongTime time);
  void advance(LongTime until, SlowdownSteps traffic);
  void skip_intervals(LongTime limit);

  const CampaignJob& job_;
  EventTrace& failures_;
  std::size_t next_ = 0;  // failure
  std::vector<std::size_t> stops_{};
  Pace pace_;
  Fleet fleet_;
  Replicate out_;
  LongTime now_;
  LongTime progress_;    // ideal time of the steps done
  LongTime durable_;     // those in the last durable checkpoint
  LongTime since_save_;  // those after the last save
  std::optional<PendingSave> pending_{};
  std::optional<Restart> restart_{};
  std::vector<LongTime> due_{};  // of planned maintenance
  bool done_ = false;
  bool trained_ = false;
};

}  // namespace lockstep::app
