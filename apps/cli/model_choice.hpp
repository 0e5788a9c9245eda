#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/done_file.hpp"

namespace ckpt::cli {

/// The models of a training job that --latest chooses, below its output directory.
struct ModelChoice {
  std::vector<DoneLine> lines;  ///< a checkpoint, or a base; then the deltas to be put on it, oldest first
  std::filesystem::path directory;

  std::filesystem::path source() const { return path_of(lines.front()); }
  std::vector<std::filesystem::path> deltas() const;
  const DoneLine& newest() const { return lines.back(); }

 private:
  std::filesystem::path path_of(const DoneLine& line) const { return directory / line.day / line.pass; }
};

/// `wanted`: "checkpoint" (the last line of donefile.txt), "base" (of the bases' done-file), "chain" (that base, and
/// the deltas that carry its key), or DAY/PASS (that one; with a delta, the chain up to it). Throws usage for other
/// words, input where a done-file is absent or damaged, or has no such line.
ModelChoice choose_model(const std::filesystem::path& directory, const std::string& wanted);

/// The whole text of a done-file; empty where there is none.
std::string read_done_file(const std::filesystem::path& file);

/// Whether a done-file has a line for this day and pass, with its end.
bool has_done_line(const std::filesystem::path& file, const DoneLine& line);

/// Whether it has none. Throws usage where it ends with a later model: readers take the last line for the latest; and io
/// where a line could not be added there.
bool wants_done_line(const std::filesystem::path& file, const DoneLine& line);

/// The line that a finished model at `path` (…/DAY/PASS) gets. `key`: of what it was made of; empty: a new one, of this
/// second. Throws usage where the path has neither day nor pass, or a delta would get a new key.
DoneLine line_for(const std::filesystem::path& path, const std::string& key);

/// Adds a line, unless the file has one for this day and pass: by a whole new file that takes the other's name. Several
/// processes that do so at a time wait for each other. Throws as wants_done_line, and io.
void add_done_line(const std::filesystem::path& file, const DoneLine& line, const std::filesystem::path& path);

}  // namespace ckpt::cli
