#include "tools/lockstep/parser/parser_pool.hpp"

#include <utility>

namespace lockstep::cli {

ParserPool::Lease::Lease(ParserPool& pool, const std::string& command)
    : pool_{pool}, command_{command}, parser_{pool.take(command)} {}

ParserPool::Lease::~Lease() {
  if (parser_->reset()) pool_.give_back(command_, std::move(parser_));
}

std::unique_ptr<CommandParser> ParserPool::take(const std::string& command) {
  {
    // A child of fork() may have a copy of the lock that nobody opens.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    const auto found = lock ? free_.find(command) : free_.end();
    if (found != free_.end() && !found->second.empty()) {
      auto out = std::move(found->second.back());
      found->second.pop_back();
      return out;
    }
  }
  return make_(command);
}

void ParserPool::give_back(const std::string& command, std::unique_ptr<CommandParser> parser) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) free_[command].push_back(std::move(parser));
}

}  // namespace lockstep::cli
