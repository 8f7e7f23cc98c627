#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

namespace fs = std::filesystem;

/// A folder that is gone when the test is over.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "lockstep-store-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

/// Some thousand points of 16 GPUs; a few tens are simulated.
const std::string kPlan =
    "lockstep plan --model llama3-8b --cluster dgx-h100 --nodes 2 --global-batch 32 --vary "
    "tp=1,4,8 "
    "--vary pp=1,2 --fix cp=1 --fix micro_batch=1 --fix recompute=none --fix order=tp-cp-dp-pp "
    "--vary overlap=none,all ";

std::string error_of(const std::string& command) {
  const CommandResult result = run_command(command);
  INFO(command, "\n", result.out, result.err);
  REQUIRE(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines_of(result.err).size() == 1);
  return result.err;
}

std::string rows_in(const std::string& store) {
  return output_of("lockstep query " + store +
                   " 'SELECT * FROM simulated ORDER BY 1' --format csv");
}

}  // namespace

TEST_CASE("a store takes what a search printed, and is read with SQL in every format") {
  const Folder folder;
  const std::string store = folder / "plan.db";
  const std::string plain = output_of(kPlan + "--format csv");
  CHECK(output_of(kPlan + "--format csv --store " + store) == plain);
  const std::string query = "lockstep query " + store + " ";
  const auto best =
      rows_of(query + "'SELECT rank, tp, pp, step_time_s, \"index\" FROM best_layouts'");
  const auto printed = rows_of(kPlan);
  REQUIRE(best.size() == 5);
  for (std::size_t i = 0; i < best.size(); ++i)
    for (const char* key : {"rank", "tp", "pp", "step_time_s", "index"})
      CHECK(best[i][key] == printed[i][key]);
  // The certificate adds up to the points of the space.
  CHECK(contains(output_of(query + "'SELECT sum(count) - (SELECT points FROM progress) AS rest "
                                   "FROM rules' --format csv"),
                 "rest\n0\n"));
  CHECK(contains(output_of(query + "'SELECT count(*) AS n FROM axes' --format md"), "| n |"));
  CHECK(contains(error_of(query + "'SELEC 1'"), "syntax error"));
  CHECK(contains(error_of(query + "'DELETE FROM meta'"), "expected a SELECT"));
  CHECK(contains(error_of(query + "'SELECT 1; SELECT 2'"), "expected one statement"));
  CHECK(contains(error_of(query + "'SELECT velocity FROM simulated'"), "no such column: velocity"));
}

TEST_CASE("merged shards are the search in one piece, in any order and grouping") {
  for (const char* more : {"", "--top 12 ", "--pareto step_time,memory "}) {
    CAPTURE(more);
    const Folder folder;
    const std::string whole = output_of(kPlan + more);
    const std::string as_json = output_of(kPlan + more + "--format json");
    std::vector<std::string> shards;
    for (const char* shard : {"1", "2", "3", "4"}) {
      shards.push_back(folder / (std::string{shard} + ".db"));
      const std::string text =
          output_of(kPlan + more + "--shard " + shard + "/4 --store " + shards.back());
      CHECK(contains(text, "shard " + std::string{shard} + " of 4"));
    }
    const auto merged = [&](const std::string& stores) { return "lockstep merge " + stores; };
    const std::string out = " -o " + (folder / "all.db");
    CHECK(output_of(merged(shards[0] + " " + shards[1] + " " + shards[2] + " " + shards[3] +
                           out)) == whole);
    CHECK(output_of(merged(folder / "all.db") + " --format json") == as_json);
    // (4 + 2) + (1 + 3), the second with 4 once more.
    (void)output_of(merged(shards[3] + " " + shards[1] + " -o " + (folder / "a.db")));
    (void)output_of(
        merged(shards[0] + " " + shards[2] + " " + shards[3] + " -o " + (folder / "b.db")));
    CHECK(output_of(merged((folder / "b.db") + " " + (folder / "a.db") + " -o " +
                           (folder / "ab.db"))) == whole);
    CHECK(rows_in(folder / "ab.db") == rows_in(folder / "all.db"));
    CHECK(output_of(merged((folder / "ab.db") + " " + (folder / "all.db") + " " + shards[2])) ==
          whole);
    // Part of the shards is said to be a part.
    CHECK(contains(output_of(merged(folder / "a.db")), "points in the merged shards, of "));
  }
}

TEST_CASE("a killed search goes on from its store to the same bytes, simulating nothing twice") {
  const Folder folder;
  const std::string whole = output_of(kPlan);
  const std::string once = folder / "once.db";
  CHECK(output_of(kPlan + "--store " + once) == whole);
  std::mt19937 random(7);  // NOLINT: the same times in each run
  for (int round = 0; round < 3; ++round) {
    const std::string store = folder / (std::to_string(round) + ".db");
    std::string before = "index\n";
    for (int kill = 0; kill < 4; ++kill) {
      const int milliseconds = std::uniform_int_distribution{20, 1500}(random);
      (void)run_command("timeout -s KILL " + std::to_string(milliseconds / 1000.0) + " " + kPlan +
                        "--store " + store + " --resume");
      if (!fs::exists(store)) continue;
      // Whatever was there before is there now. A store without tables has no rows.
      const CommandResult now = run_command("lockstep query " + store +
                                            " 'SELECT * FROM simulated ORDER BY 1' --format csv");
      if (now.status != 0) continue;
      for (const std::string& line : lines_of(before))
        if (line != "index") CHECK(contains(now.out, line));
      before = now.out;
    }
    CHECK(output_of(kPlan + "--store " + store + " --resume") == whole);
    CHECK(rows_in(store) == rows_in(once));
    CHECK(output_of("lockstep merge " + store) == whole);
  }
}

TEST_CASE("a budget ends a search that --resume completes, until then it cannot be merged") {
  const Folder folder;
  const std::string store = folder / "plan.db";
  (void)output_of(kPlan + "--budget 2 --store " + store);
  const std::string first = rows_in(store);
  CHECK(contains(error_of("lockstep merge " + store), "not complete"));
  CHECK(output_of(kPlan + "--resume --store " + store) == output_of(kPlan));
  for (const std::string& line : lines_of(first)) CHECK(contains(rows_in(store), line));
}

TEST_CASE("stores of others are refused in one line and stay as they are") {
  const Folder folder;
  const std::string store = folder / "plan.db";
  (void)output_of(kPlan + "--store " + store);
  const std::string bytes = text_of(store);
  const std::string resume = " --resume --store ";
  CHECK(contains(error_of(kPlan + "--store " + store), "exists; --resume continues it"));
  CHECK(contains(error_of(kPlan + "--fix zero=1" + resume + store), "another space"));
  CHECK(contains(error_of(kPlan + "--top 3" + resume + store), "its top is 5 instead of 3"));
  CHECK(contains(error_of(kPlan + "--shard 1/2" + resume + store), "shard 1/1, not of 1/2"));
  CHECK(text_of(store) == bytes);

  (void)output_of(kPlan + "--shard 1/2 --store " + (folder / "half.db"));
  (void)output_of(kPlan + "--shard 1/3 --store " + (folder / "third.db"));
  (void)output_of(kPlan + "--fix zero=1 --store " + (folder / "other.db"));
  CHECK(contains(error_of("lockstep merge " + (folder / "half.db") + " " + (folder / "third.db")),
                 "overlap"));
  CHECK(
      contains(error_of("lockstep merge " + store + " " + (folder / "other.db")), "another space"));
  CHECK(contains(error_of("lockstep merge " + store + " -o " + (folder / "other.db")),
                 "another space"));

  const auto changed = [&](const std::string& name, const std::string& sql) {
    fs::copy_file(store, folder / name);
    REQUIRE(run_command("sqlite3 " + (folder / name) + " \"" + sql + "\"").status == 0);
    return folder / name;
  };
  if (run_command("sqlite3 -version").status == 0) {
    const std::string newer =
        changed("newer.db", "UPDATE meta SET value = '99' WHERE key = 'schema_version'");
    CHECK(contains(error_of(kPlan + resume + newer), "version 99"));
    CHECK(contains(error_of("lockstep merge " + newer), "version 99"));
    CHECK(contains(error_of("lockstep query " + newer + " 'SELECT 1'"), "version 99"));
    const std::string older =
        changed("older.db", "UPDATE meta SET value = '0.0.1' WHERE key = 'tool_version'");
    CHECK(contains(error_of(kPlan + resume + older), "written by lockstep 0.0.1"));
    CHECK(contains(error_of("lockstep merge " + older), "written by lockstep 0.0.1"));
    const std::string foreign = folder / "foreign.db";
    REQUIRE(run_command("sqlite3 " + foreign + " 'CREATE TABLE x(a)'").status == 0);
    CHECK(contains(error_of(kPlan + resume + foreign), "no store of"));
  }
}

TEST_CASE("a store that is locked, cut short or no database is refused and not touched") {
  const Folder folder;
  const std::string store = folder / "plan.db";
  (void)output_of(kPlan + "--store " + store);
  const std::string bytes = text_of(store);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  };
  const std::string cut = write("cut.db", bytes.substr(0, bytes.size() / 2));
  const std::string text =
      write("text.db", "no database, but long enough to have a header\n" + std::string(200, 'x'));
  for (const std::string& command : {kPlan + "--resume --store ", std::string{"lockstep merge "}}) {
    CHECK(contains(error_of(command + cut), "damaged or cut short"));
    CHECK(contains(error_of(command + text), "is not a SQLite database"));
  }
  CHECK(contains(error_of("lockstep query " + text + " 'SELECT 1'"), "is not a SQLite database"));
  CHECK(
      contains(error_of("lockstep query " + (folder / "none.db") + " 'SELECT 1'"), "no such file"));
  CHECK(text_of(cut) == bytes.substr(0, bytes.size() / 2));

  // Held by a transaction of another client.
  if (run_command("sqlite3 -version").status == 0) {
    const std::string locked = "(echo 'BEGIN EXCLUSIVE;'; sleep 6) | sqlite3 " + store +
                               " & sleep 0.5; " + kPlan + "--resume --store " + store +
                               "; status=$?; wait; exit $status";
    CHECK(contains(error_of(locked), "locked by another process"));
  }
  CHECK(text_of(store) == bytes);
}

TEST_CASE("a store that cannot be written is an error before anything is searched") {
  const CommandResult result = run_command(kPlan + "--store /no-such-folder/plan.db");
  CHECK(result.status == 4);
  CHECK(contains(result.err, "cannot write /no-such-folder/plan.db"));
  CHECK(result.out.empty());
}

TEST_CASE("options of stores and scripts that contradict each other are errors") {
  CHECK(contains(error_of(kPlan + "--resume"), "expected --store"));
  CHECK(contains(error_of(kPlan + "--shards 4"), "of --emit"));
  CHECK(contains(error_of(kPlan + "--emit pbs"), "slurm, parallel, hyperqueue, got"));
  CHECK(contains(error_of(kPlan + "--emit slurn"), "did you mean \"slurm\"?"));
  for (const char* option :
       {"--shard 1/2", "--resume --store a.db", "--plot front=a.svg", "--report a.html"})
    CHECK(contains(error_of(kPlan + "--emit slurm " + option), "searches all shards"));
  CHECK(contains(error_of(kPlan + "--emit megatron --shards 4"), "of --emit slurm"));
  CHECK(contains(error_of(kPlan + "--emit slurm --vary tp=x"), "tp"));
}

TEST_CASE("a script repeats the options and packs shards into at most 1000 tasks") {
  const std::string script = output_of(
      kPlan + "--where 'memory_margin >= 4 GiB' --set 'name=\"it''s\"' --emit slurm --shards 2500");
  CHECK(contains(script, "--where 'memory_margin >= 4 GiB'"));
  CHECK(contains(script, "--vary tp=1,4,8 --vary pp=1,2 --vary overlap=none,all"));
  CHECK(contains(script, "--array=1-1000 "));
  CHECK(contains(script, "i <= 2500; i += 1000"));
  CHECK(contains(script, "--shard \"$1/2500\""));
  CHECK(contains(script, "plan.shard-{1..2500}-of-2500.db"));
  CHECK(run_command("bash -n <<'END'\n" + script + "\nEND").status == 0);
}

TEST_CASE("--emit scenario is a file that runs to the step of the plan") {
  const std::string plan =
      "lockstep plan --model llama3-8b --cluster dgx-h100 --global-batch 16 --vary tp=1,2 --fix "
      "pp=1 "
      "--fix cp=1 --fix overlap=none --fix micro_batch=1 --top 1 ";
  const NewFile scenario;
  std::ofstream{scenario.path()} << output_of(plan + "--emit scenario");
  const auto planned = nlohmann::json::parse(output_of(plan + "--format json --emit scenario"));
  const auto run =
      nlohmann::json::parse(output_of("lockstep run " + scenario.path() + " --format json"));
  CHECK(run["step_time_s"] == planned["rows"][0]["step_time_s"]);
  CHECK(planned["scenario"]["parallel"]["tp"] == planned["rows"][0]["tp"]);
  CHECK_FALSE(planned["scenario"].contains("summary"));
}

}  // namespace lockstep
