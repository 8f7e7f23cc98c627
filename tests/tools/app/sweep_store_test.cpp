#include "tools/app/sweep/sweep_store.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tools/app/errors.hpp"
#include "tools/app/plan/store/query.hpp"
#include "tools/app/plan/store/store.hpp"

namespace lockstep::app {

namespace {

/// A store of its own for each test, removed at its end.
class StoreFile {
 public:
  StoreFile() { remove(); }
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;
  ~StoreFile() { remove(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void remove() const {
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end);
  }
  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("lockstep-sweep-" + std::to_string(getpid()) + ".db"))
                          .string();
};

SweepRequest request() {
  SweepRequest out;
  out.space.scenario = "llama7b-256";
  out.space.vary = {"tp=3,4,8", "overlap=none,dp_gradients"};
  out.threads = 1;
  return out;
}

struct Written {
  std::map<std::uint64_t, std::string> state{};
  std::size_t simulated = 0;  // in this run
};

/// Sweeps into the store, at most `most` points.
Written sweep_into(const StoreFile& file, bool resume, std::size_t most) {
  SweepRequest of = request();
  SweepStore store{{file.path(), resume, "1", "vary tp, overlap"}, SweepGrid{of.space}};
  of.known = store.known();
  Written out;
  std::size_t count = 0;
  of.on_point = [&](const SweepPoint& point) {
    if (count++ < most) store.add(point);
    if (point.step.result) ++out.simulated;
    out.state[point.index] = state_of(point.row);
  };
  of.on_batch = [&] { store.end_batch(); };
  (void)sweep(of);
  return out;
}

}  // namespace

TEST_CASE("a sweep that goes on from its store simulates no point twice and has the same rows") {
  const StoreFile file;
  const Written whole = sweep_into(file, false, 4);
  // tp=3 divides neither heads nor GPUs.
  CHECK(whole.state.at(0).find("impossible") == 0);
  CHECK(whole.simulated == 4);
  const Written rest = sweep_into(file, true, 100);
  CHECK(rest.state == whole.state);
  CHECK(rest.simulated == 2);
  const DatabaseRows rows = query_store(
      file.path(), "SELECT count(*), count(step_time_s), max(\"parallel.tp\") FROM simulated");
  CHECK(rows.rows[0] == DatabaseRow{std::int64_t{6}, std::int64_t{4}, std::int64_t{8}});
}

TEST_CASE("a store of another sweep, version or kind is refused") {
  const StoreFile file;
  (void)sweep_into(file, false, 100);
  const SweepGrid grid{request().space};
  const auto open = [&](bool resume, const std::string& version, const std::string& asked) {
    const SweepStore store{{file.path(), resume, version, asked}, grid};
  };
  CHECK_THROWS_WITH_AS(open(false, "1", "vary tp, overlap"), doctest::Contains("--resume"),
                       RequestError);
  CHECK_THROWS_WITH_AS(open(true, "2", "vary tp, overlap"), doctest::Contains("another version"),
                       RequestError);
  CHECK_THROWS_WITH_AS(open(true, "1", "vary pp"), doctest::Contains("another sweep"),
                       RequestError);
  Database database{file.path(), Database::Mode::read, "store"};
  CHECK_THROWS_WITH_AS(check_store(database, "store"),
                       doctest::Contains("store of `lockstep sweep`"), RequestError);
}

}  // namespace lockstep::app
