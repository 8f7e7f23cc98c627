#include "tools/lockstep/plot/plot_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/lockstep/errors.hpp"

namespace lockstep::cli {

namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw IoError("cannot write " + path + ": " + std::strerror(error));
}

/// 0, or the error.
int write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

void write_in_place(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) fail(path, errno);
  int error = write_all(file, text);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) fail(path, error);
}

/// The rights of a file that anybody makes.
mode_t usual_rights() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<mode_t>(0666) & ~mask;
}

void write_beside(const std::string& path, const std::string& text) {
  std::string beside = path + ".XXXXXX";
  const int file = ::mkstemp(beside.data());
  if (file < 0) fail(path, errno);
  int error = write_all(file, text);
  if (error == 0 && ::fchmod(file, usual_rights()) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  (void)std::remove(beside.c_str());
  fail(path, error);
}

}  // namespace

void write_whole_file(const std::string& path, const std::string& text) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    write_in_place(path, text);
  } else {
    write_beside(path, text);
  }
}

}  // namespace lockstep::cli
