#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/plan/store/database.hpp"
#include "tools/app/sweep/sweep.hpp"

namespace lockstep::app {

struct SweepStoreRequest {
  std::string file{};
  bool resume = false;         // whether the file may be there, to be continued
  std::string tool_version{};  // that the store names
  std::string asked{};         // the sweep as the user asked for it
};

/// Rows of a sweep in a SQLite file, which `lockstep query` and any client read: `simulated` has
/// one for each point. Written in batches: what a kill leaves is whole. Errors: RequestError with
/// the place "store" for a file that exists where `resume` is not set, is no store of a sweep, is
/// one of another sweep or version, is locked or damaged; IoError where it cannot be written.
class SweepStore {
 public:
  /// `axes`: keys; `hash`: of the scenario.
  SweepStore(const SweepStoreRequest& request, const std::vector<std::string>& axes,
             std::uint64_t points, const std::string& hash);

  /// Points that an earlier run wrote.
  [[nodiscard]] const std::map<std::uint64_t, SweepRow>& known() const { return known_; }
  void add(const SweepPoint& point);
  /// Writes what was added.
  void end_batch();
  /// At the end of a sweep, whether all of it was simulated or not.
  void finish();

 private:
  void create(const SweepStoreRequest& request, std::uint64_t points, const std::string& hash);
  void resume(const SweepStoreRequest& request, const std::string& hash);
  void check(const std::string& key, const std::string& mine, const char* what);
  void read_known();

  std::vector<std::string> axes_;
  std::string insert_;
  std::unique_ptr<Database> database_;
  std::map<std::uint64_t, SweepRow> known_;
  bool in_batch_ = false;
};

}  // namespace lockstep::app
