#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace lockstep {

/// A path that nothing stands at, for a file that a command writes; removed when the test is over.
class NewFile {
 public:
  NewFile() : path_{next_path()} {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static std::string next_path() {
    static int made = 0;
    const std::string name =
        "lockstep-new-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
    return (std::filesystem::temp_directory_path() / name).string();
  }

  std::string path_;
};

}  // namespace lockstep
