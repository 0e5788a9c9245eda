#pragma once

#include <string>

#include "base/error.hpp"
#include "cli/options.hpp"

namespace ckpt::cli {

inline Program program(Verb verb) {
  const char* const verbs[] = {"reshard", "merge", "split", "verify"};
  const std::string word = verbs[static_cast<int>(verb)];
  return {verb, {word, "ckpt-" + word, "SRC -o DST", "Does its work.", {{"Do it:", "do it"}}, "0 done.", {}}};
}

/// The message and kind of the Error that `work` throws.
struct Caught {
  Kind kind = Kind::peer;
  std::string message = "nothing was thrown";
};

template <class Work>
Caught caught(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

}  // namespace ckpt::cli
