#include "tests/tools/run_command.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace lockstep {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File nameless_file() {
  File file(std::tmpfile(), &std::fclose);
  if (!file) throw std::runtime_error("no temporary file can be made");
  return file;
}

std::string text_of(std::FILE* file) {
  std::rewind(file);
  std::string out;
  std::array<char, 65536> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file))
    out.append(buffer.data(), n);
  return out;
}

/// The child's part: never returns.
[[noreturn]] void become(const std::string& command, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  const std::string binary = LOCKSTEP_BINARY;
  if (chdir(LOCKSTEP_SOURCE_DIR) == 0) {
    const std::string path = binary.substr(0, binary.rfind('/')) + ":" + std::getenv("PATH");
    setenv("PATH", path.c_str(), 1);
    unsetenv("LOCKSTEP_CONFIGS");
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  }
  _exit(127);
}

int status_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("the command is lost");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

CommandResult run_command(const std::string& command) {
  const File out = nameless_file();
  const File err = nameless_file();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be started");
  if (child == 0) become(command, fileno(out.get()), fileno(err.get()));
  const int status = status_of(child);
  return {status, text_of(out.get()), text_of(err.get())};
}

std::string output_of(const std::string& command) {
  CommandResult result = run_command(command);
  INFO(command, "\n", result.err);
  REQUIRE(result.status == 0);
  REQUIRE(result.err.empty());
  return std::move(result.out);
}

nlohmann::ordered_json json_of(const std::string& command) {
  return nlohmann::ordered_json::parse(output_of(command + " --format json"));
}

nlohmann::ordered_json rows_of(const std::string& command) {
  return json_of(command)["rows"];
}

TemporaryFile::TemporaryFile(std::string_view content) {
  path_ = "/tmp/lockstep-test-XXXXXX";
  const int descriptor = mkstemp(path_.data());
  if (descriptor < 0) throw std::runtime_error("no temporary file can be made");
  close(descriptor);
  std::ofstream(path_, std::ios::binary) << content;
}

TemporaryFile::~TemporaryFile() {
  (void)std::remove(path_.c_str());
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  INFO("to be replaced: ", std::string{from});
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace lockstep
