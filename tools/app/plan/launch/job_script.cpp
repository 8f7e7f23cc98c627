#include "tools/app/plan/launch/job_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/app/shell_word.hpp"

namespace lockstep::app {

namespace {

/// The names and numbers of a script.
struct Script {
  std::string arguments;
  std::string shards_of;  // store without its ending: "plan"
  std::string store;
  std::uint64_t shards = 1;
  std::uint64_t tasks = 1;

  /// Store of a shard; `shard` is shell text.
  [[nodiscard]] std::string shard_store(const std::string& shard) const {
    return fmt::format("{}.shard-{}-of-{}.db", shell_word(shards_of), shard, shards);
  }
  [[nodiscard]] std::string search(const std::string& threads) const {
    return fmt::format(
        "  \"$LOCKSTEP\" plan {} \\\n"
        "    --shard \"$1/{}\" --store {} --resume --threads {}\n",
        arguments, shards, shard_store("\"$1\""), threads);
  }
  /// Shards in an order that the shell expands: a glob could meet files of others.
  [[nodiscard]] std::string merge() const {
    const std::string all = shards == 1 ? "1" : fmt::format("{{1..{}}}", shards);
    return fmt::format("\"$LOCKSTEP\" merge -o {} {}", shell_word(store), shard_store(all));
  }
  /// A loop over the shards of task $1.
  [[nodiscard]] std::string task() const {
    return fmt::format("  for ((i = $1; i <= {}; i += {})); do shard \"$i\"; done\n", shards,
                       tasks);
  }
};

[[nodiscard]] std::string head(const Script& of, std::string_view engine, std::string_view start) {
  return fmt::format(
      "#!/bin/bash\n"
      "# {} shards of a search in {} tasks for {}, merged into {}. Start with: {}\n"
      "set -euo pipefail\n"
      "export LOCKSTEP=${{LOCKSTEP:-lockstep}}\n",
      of.shards, of.tasks, engine, of.store, start);
}

[[nodiscard]] std::string slurm(const Script& of) {
  const std::string body = fmt::format(
      "#!/bin/bash\n"
      "set -euo pipefail\n"
      "shard() {{\n{}}}\n"
      "task() {{\n{}}}\n"
      "task \"$SLURM_ARRAY_TASK_ID\"\n",
      of.search("\"${SLURM_CPUS_PER_TASK:-1}\""), of.task());
  return head(of, "Slurm", "bash SCRIPT") +
         fmt::format(
             "# Further options of sbatch, such as a partition or a time limit: SBATCH_OPTIONS='-p "
             "cpu -t 60'\n"
             "read -ra options <<< \"${{SBATCH_OPTIONS:-}}\"\n"
             "job=$(sbatch --parsable --job-name=lockstep-plan --array=1-{} --requeue \\\n"
             "  --output={} ${{options[@]+\"${{options[@]}}\"}} <<'END_OF_TASK'\n"
             "{}END_OF_TASK\n"
             ")\n"
             "job=${{job%%;*}}\n"
             "sbatch --parsable --job-name=lockstep-merge --dependency=\"afterok:$job\" \\\n"
             "  --kill-on-invalid-dep=yes --output={} ${{options[@]+\"${{options[@]}}\"}} "
             "<<'END_OF_MERGE'\n"
             "#!/bin/bash\n"
             "{}\n"
             "END_OF_MERGE\n",
             of.tasks, shell_word(of.shards_of + ".%a.log"), body,
             shell_word(of.shards_of + ".log"), of.merge());
}

[[nodiscard]] std::string parallel(const Script& of) {
  return head(of, "GNU parallel", "bash SCRIPT") +
         fmt::format(
             "# Further options of parallel, such as other machines: PARALLEL='-S host1,host2 "
             "--workdir .'\n"
             "shard() {{\n{}}}\n"
             "task() {{\n  set -euo pipefail\n{}}}\n"
             "export -f shard task\n"
             "export SHELL=/bin/bash\n"
             "seq {} | parallel --will-cite --halt soon,fail=1 'task {{}} > {}.\"{{}}\".log'\n"
             "{}\n",
             of.search("1"), of.task(), of.tasks, shell_word(of.shards_of), of.merge());
}

[[nodiscard]] std::string hyperqueue(const Script& of) {
  return head(of, "HyperQueue", "bash SCRIPT") +
         fmt::format(
             "# Further options of hq submit, such as --time-limit=60m: HQ_OPTIONS\n"
             "read -ra options <<< \"${{HQ_OPTIONS:-}}\"\n"
             "shard() {{\n{}}}\n"
             "task() {{\n  set -euo pipefail\n{}}}\n"
             "hq submit --wait --name=lockstep-plan --array=1-{} --cpus=1 "
             "${{options[@]+\"${{options[@]}}\"}} \\\n"
             "  -- bash -c \"LOCKSTEP='$LOCKSTEP'; $(declare -f shard task); task "
             "\\\"\\$HQ_TASK_ID\\\"\"\n"
             "{}\n",
             of.search("1"), of.task(), of.tasks, of.merge());
}

}  // namespace

const std::vector<std::pair<std::string_view, JobEngine>>& job_engines() {
  static const std::vector<std::pair<std::string_view, JobEngine>> engines{
      {"slurm", JobEngine::slurm},
      {"parallel", JobEngine::parallel},
      {"hyperqueue", JobEngine::hyperqueue}};
  return engines;
}

std::string job_script(const JobScriptRequest& request) {
  Script of;
  std::vector<std::string> words;
  for (const std::string& argument : request.arguments) words.push_back(shell_word(argument));
  of.arguments = fmt::format("{}", fmt::join(words, " "));
  of.store = request.store;
  const std::string_view ending = ".db";
  const bool ends = of.store.size() > ending.size() &&
                    of.store.compare(of.store.size() - ending.size(), ending.size(), ending) == 0;
  of.shards_of = ends ? of.store.substr(0, of.store.size() - ending.size()) : of.store;
  of.shards = request.shards;
  of.tasks = std::min(request.shards, kMostTasks);
  switch (request.engine) {
    case JobEngine::slurm:
      return slurm(of);
    case JobEngine::parallel:
      return parallel(of);
    case JobEngine::hyperqueue:
      return hyperqueue(of);
  }
  return {};
}

}  // namespace lockstep::app
