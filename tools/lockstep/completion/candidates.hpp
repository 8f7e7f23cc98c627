#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep::cli {

/// A word that a shell offers, with a description for shells that show one.
struct Completion {
  std::string word;
  std::string help;
};

struct Completions {
  std::vector<Completion> words;
  bool files = false;  // also file names

  void add(std::string word, std::string help = {}) {
    words.push_back({std::move(word), std::move(help)});
  }
};

}  // namespace lockstep::cli
