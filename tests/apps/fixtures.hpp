#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/options.hpp"

namespace ckpt::cli {

inline Program program(Verb verb) {
  const char* const names[] = {"ckpt-reshard", "ckpt-merge", "ckpt-split", "ckpt-verify"};
  return {verb, {names[static_cast<int>(verb)], "SRC -o DST", "Does its work.", {{"Do it:", "do it"}}, "0 done."}};
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

/// A directory of its own that goes with the test.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::random_device random;
    path_ =
        std::filesystem::temp_directory_path() / ("ckpt_apps_" + std::to_string(random()) + std::to_string(random()));
    std::filesystem::create_directory(path_);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace ckpt::cli
