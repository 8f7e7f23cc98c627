#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/plan/search.hpp"
#include "tools/app/plan/store/database.hpp"
#include "tools/app/plan/store/stored_search.hpp"

/// Results of a search in a SQLite file, readable by any client. `simulated` has a
/// row for each simulated layout; what else there is says the help of `lockstep query`.
namespace lockstep::app {

inline constexpr int kStoreVersion = 1;

/// The points of a shard that a search has decided.
struct StoredRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool complete = false;
  RuleCounts rules{};
  std::uint64_t memory = 0;  // by bounds
  std::uint64_t limits = 0;  // likewise

  friend bool operator==(const StoredRange&, const StoredRange&) = default;
};

/// What two stores must agree on.
struct StoreIdentity {
  std::string tool_version;
  std::string space_hash;
  std::string space;  // as space_text()
  StoredOptions options;
};

/// A store, read.
struct StoreContents {
  StoreIdentity identity;
  std::vector<StoredRange> ranges{};  // by their begin
  std::vector<SimulatedLayout> simulated{};
  std::vector<DroppedLayout> dropped{};
};

/// Errors: RequestError with `place` for a file that is missing, locked, damaged, cut short, no
/// store or of another version.
[[nodiscard]] StoreContents read_store(const std::string& file, const std::string& place);

/// Errors: RequestError with `place` for a database that is no store, or of another version.
/// `kind`: "plan" or "sweep"; empty: either.
void check_store(Database& database, const std::string& place, const std::string& kind = "plan");

/// Errors: RequestError with `place` that says how the search of `file` differs.
void check_same_search(const StoreIdentity& mine, const StoreIdentity& of, const std::string& file,
                       const std::string& place);

/// "2/8"; of merged stores the part of the space that they hold.
[[nodiscard]] std::string shard_text(const PlanRequest& request);

/// A store that is written, in batches: what a kill leaves is whole.
class PlanStore {
 public:
  /// `resume`: continues the file if present. Errors: RequestError with the place "store",
  /// as read_store() and check_same_search(), and for a file that exists where `resume` is not set;
  /// IoError where it cannot be written.
  PlanStore(const std::string& file, bool resume, const StoreIdentity& identity,
            const std::string& shard, const PlanSpace& space,
            const std::vector<std::unique_ptr<PlanSetting>>& settings, const PlanPrices& prices);
  PlanStore(const PlanStore&) = delete;
  PlanStore& operator=(const PlanStore&) = delete;
  /// Leaves no file behind that nothing was written to.
  ~PlanStore();

  /// What the file had.
  [[nodiscard]] const std::vector<SimulatedLayout>& known() const { return known_; }
  void add(const SimulatedLayout& layout);
  /// Commits the batch: points added so far survive a crash.
  void end_batch();
  /// The result of the search; closes the file.
  void finish(const SearchResult& result, const std::vector<StoredRange>& ranges);

 private:
  void create(const StoreIdentity& identity, const std::string& shard);
  void resume(const StoreIdentity& identity, const std::string& shard);
  [[nodiscard]] bool is_blank();
  void add_axes();
  void add_tables();
  void add_certificate(const SearchResult& result);
  void begin_batch();
  [[nodiscard]] std::vector<std::string> axis_keys() const;

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  PlanPrices prices_;
  std::string file_;
  std::unique_ptr<Database> database_;
  std::string insert_;
  std::vector<SimulatedLayout> known_;
  std::uint64_t rows_ = 0;
  bool created_ = false;
  bool in_batch_ = false;
  bool finished_ = false;
};

}  // namespace lockstep::app
