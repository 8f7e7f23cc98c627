#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// Parsers by command, for programs that execute many: making one takes up to a tenth of a
/// millisecond, using it again a few microseconds. Thread-safe.
class ParserPool {
 public:
  using Make = std::function<std::unique_ptr<CommandParser>(const std::string& command)>;

  explicit ParserPool(Make make) : make_{std::move(make)} {}

  /// A parser that nobody else uses until its end.
  class Lease {
   public:
    Lease(ParserPool& pool, const std::string& command);
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    const std::unique_ptr<CommandParser>& operator->() const { return parser_; }

   private:
    ParserPool& pool_;
    const std::string& command_;
    std::unique_ptr<CommandParser> parser_;
  };

 private:
  [[nodiscard]] std::unique_ptr<CommandParser> take(const std::string& command);
  void give_back(const std::string& command, std::unique_ptr<CommandParser> parser);

  Make make_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<CommandParser>>> free_;
};

}  // namespace lockstep::cli
