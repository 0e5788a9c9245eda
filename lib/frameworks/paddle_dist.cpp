#include "frameworks/paddle_dist.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "frameworks/paddle_metadata.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// The names in a directory that matter here.
struct DistNames {
  std::optional<std::uint64_t> newest;  ///< number of the newest metadata
  std::set<std::uint64_t> pickled;      ///< numbers of saves that have files of Paddle's own form
  std::set<std::uint64_t> saved;        ///< numbers of saves that have files
  std::string first;                    ///< the first of these files of Paddle's own form
};

DistNames names_in(const fs::path& directory) {
  static const std::regex metadata(R"((\d{1,9})\.metadata)");
  static const std::regex data(R"(\d{1,9}_(\d{1,9})\.(distcp|safetensors))");
  DistNames names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::smatch number;
    if (std::regex_match(name, number, metadata))
      names.newest = std::max<std::uint64_t>(names.newest.value_or(0), std::stoull(number[1]));
    if (!std::regex_match(name, number, data)) continue;
    names.saved.insert(std::stoull(number[1]));
    if (number[2] != "distcp") continue;
    names.pickled.insert(std::stoull(number[1]));
    if (names.first.empty() || name < names.first) names.first = name;
  }
  return names;
}

/// Whether a file is a pickle of protocol 2 to 5: Paddle's files are, while torch's are zip archives.
bool is_bare_pickle(const fs::path& file) {
  std::array<char, 2> first{};
  std::ifstream(file, std::ios::binary).read(first.data(), first.size());
  return first[0] == '\x80' && first[1] >= 2 && first[1] <= 5;
}

}  // namespace

bool is_paddle_dist(const fs::path& directory) {
  const DistNames names = names_in(directory);
  if (names.newest) return names.saved.contains(*names.newest);
  return !names.first.empty() && is_bare_pickle(directory / names.first);
}

DirectoryDescription describe_paddle_dist(const fs::path& directory, SourceStore& store) {
  const DistNames names = names_in(directory);
  if (!names.newest)
    throw Error(Kind::input, directory.string(),
                {"it has Paddle's .distcp files and no " + std::to_string(*names.pickled.rbegin()) + ".metadata",
                 "it beside them", "copy that file, too"});
  const std::string number = std::to_string(*names.newest);
  const fs::path path = directory / (number + ".metadata");
  const DistMetadata metadata = read_paddle_metadata(path);
  const std::string kind = metadata.files.empty() ? "" : fs::path(metadata.files.front()).extension().string();
  return describe_dist_files(
      {path, "{card}_" + number + kind, "was it saved twice into one directory? Paddle keeps the first metadata then"},
      metadata, store);
}

}  // namespace ckpt
