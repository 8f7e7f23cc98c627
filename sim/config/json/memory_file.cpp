#include "sim/config/json/memory_file.hpp"

#include <map>
#include <mutex>
#include <system_error>
#include <utility>

namespace lockstep {

namespace {

struct Held {
  std::shared_ptr<const std::string> text;
  std::size_t times = 0;
};

struct Files {
  std::mutex mutex;
  std::map<std::string, Held> by_name;
};

Files& files() {
  static Files all;
  return all;
}

}  // namespace

MemoryFile::MemoryFile(std::string name, std::string text) : name_{std::move(name)} {
  Files& all = files();
  const std::lock_guard lock(all.mutex);
  Held& held = all.by_name[name_];
  if (held.times++ == 0) held.text = std::make_shared<const std::string>(std::move(text));
}

MemoryFile::~MemoryFile() {
  Files& all = files();
  const std::lock_guard lock(all.mutex);
  const auto at = all.by_name.find(name_);
  if (--at->second.times == 0) all.by_name.erase(at);
}

std::shared_ptr<const std::string> memory_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with('<')) return nullptr;
  Files& all = files();
  const std::lock_guard lock(all.mutex);
  const auto at = all.by_name.find(name);
  return at == all.by_name.end() ? nullptr : at->second.text;
}

bool file_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return memory_file(path) != nullptr || std::filesystem::exists(path, ignored);
}

}  // namespace lockstep
