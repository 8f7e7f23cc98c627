#pragma once

#include <filesystem>
#include <memory>
#include <string>

/// Files that exist in memory alone: documents of a program that runs use cases within itself, such
/// as the dicts of a Python script. Every reader of configs finds them by name.
namespace lockstep {

/// Makes `text` readable under `name` while it lives. Several with one name share the text of the
/// first. Thread-safe. Requires a name that begins with "<", so that no file of the disk is hidden.
class MemoryFile {
 public:
  MemoryFile(std::string name, std::string text);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

 private:
  std::string name_;
};

/// The text of such a file, whatever folder is before its name; null: there is none.
[[nodiscard]] std::shared_ptr<const std::string> memory_file(const std::filesystem::path& path);

/// Whether there is a file of the disk or of memory.
[[nodiscard]] bool file_exists(const std::filesystem::path& path);

}  // namespace lockstep
