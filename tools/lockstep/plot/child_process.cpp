#include "tools/lockstep/plot/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "tools/lockstep/output/descriptor.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

[[noreturn]] void fail(const char* what) {
  throw Refusal(std::string{"process: "} + what + ": " + std::strerror(errno));
}

/// Sockets, so that writing to a child that has gone raises no signal.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("no pipe");
    ours = Descriptor{ends[0]};
    childs = Descriptor{ends[1]};
  }

  Descriptor ours;
  Descriptor childs;
};

/// A process with pipes as its standard streams.
class Child {
 public:
  explicit Child(std::vector<std::string> words) {
    Pipe in;
    Pipe out;
    Pipe err;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.childs.number(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.childs.number(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.childs.number(), STDERR_FILENO);
    const int error =
        posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return;
    started_ = true;
    in_ = std::move(in.ours);
    out_ = std::move(out.ours);
    err_ = std::move(err.ours);
  }

  /// Writes its input and reads its output until it ends.
  FinishedProcess run(const std::string& input) {
    FinishedProcess out;
    out.started = started_;
    if (!started_) return out;
    std::size_t fed = 0;
    while (out_.open() || err_.open()) {
      if (fed == input.size()) in_.close();
      std::array<pollfd, 3> ends = {pollfd{in_.number(), POLLOUT, 0},
                                    pollfd{out_.number(), POLLIN, 0},
                                    pollfd{err_.number(), POLLIN, 0}};
      if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) fail("lost");
      if (ends[0].revents != 0) feed(input, fed);
      if (ends[1].revents != 0) take(out_, out.out);
      if (ends[2].revents != 0) take(err_, out.err);
    }
    out.status = wait();
    return out;
  }

 private:
  void feed(const std::string& input, std::size_t& fed) {
    const ssize_t n =
        ::send(in_.number(), input.data() + fed, input.size() - fed, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      fed += static_cast<std::size_t>(n);
    } else if (errno != EINTR && errno != EAGAIN) {
      fed = input.size();  // it has gone: its status says why
    }
  }

  static void take(Descriptor& from, std::string& into) {
    std::array<char, 65536> buffer{};
    const ssize_t n = ::read(from.number(), buffer.data(), buffer.size());
    if (n > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      from.close();
    }
  }

  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0)
      if (errno != EINTR) fail("lost");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  bool started_ = false;
  pid_t process_ = 0;
  Descriptor in_;
  Descriptor out_;
  Descriptor err_;
};

}  // namespace

FinishedProcess run_process(const std::vector<std::string>& command, const std::string& input) {
  return Child(command).run(input);
}

std::string first_line(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \n\t");
  if (begin == std::string::npos) return "no output";
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace lockstep::cli
