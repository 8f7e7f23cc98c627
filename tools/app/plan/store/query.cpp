#include "tools/app/plan/store/query.hpp"

#include "tools/app/plan/store/store.hpp"

namespace lockstep::app {

DatabaseRows query_store(const std::string& file, const std::string& sql) {
  Database database{file, Database::Mode::read, ""};
  check_store(database, "", "");
  return database.read(sql, "sql");
}

}  // namespace lockstep::app
