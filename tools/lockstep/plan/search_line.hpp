#pragma once

#include "tools/app/plan/search.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Progress of a search on one line of stderr. Shown only on a terminal, after the first second,
/// at most four times a second.
class SearchLine {
 public:
  SearchLine();
  SearchLine(const SearchLine&) = delete;
  SearchLine& operator=(const SearchLine&) = delete;
  ~SearchLine() { clear(); }
  void show(const SearchProgress& progress);
  void clear();

 private:
  double begun_ = 0;
  double drawn_ = 0;
  bool terminal_ = false;
  bool shown_ = false;
};

}  // namespace lockstep::cli
