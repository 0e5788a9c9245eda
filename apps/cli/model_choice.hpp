#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/done_file.hpp"

namespace ckpt::cli {

/// The models of a training job that --latest chooses, below its output directory.
struct ModelChoice {
  std::vector<DoneLine> lines;  ///< a checkpoint, or a base; then the deltas to apply to it, oldest first
  std::filesystem::path directory;

  std::filesystem::path source() const { return path_of(lines.front()); }
  std::vector<std::filesystem::path> deltas() const;
  const DoneLine& newest() const { return lines.back(); }

 private:
  std::filesystem::path path_of(const DoneLine& line) const { return directory / line.day / line.pass; }
};

/// `wanted`: "checkpoint" (the last line of donefile.txt), "base" (of the bases' done-file), "chain" (that base, and
/// the deltas with its key), or DAY/PASS (that model; for a delta, the chain up to it). Throws usage for other words,
/// input if a done-file is missing or damaged, or has no such line.
ModelChoice choose_model(const std::filesystem::path& directory, const std::string& wanted);

/// The whole text of a done-file; empty if it does not exist.
std::string read_done_file(const std::filesystem::path& file);

/// Whether a done-file has a complete line for this day and pass.
bool has_done_line(const std::filesystem::path& file, const DoneLine& line);

/// Whether a line still has to be added. Throws usage if the done-file ends with a later model, since readers take the
/// last line for the latest, and io if no line could be added there.
bool wants_done_line(const std::filesystem::path& file, const DoneLine& line);

/// The line for a finished model at `path` (…/DAY/PASS). `key`: of the model that it was made from; empty: a new one,
/// the current second. Throws usage if the path lacks day or pass, or a delta would get a new key.
DoneLine line_for(const std::filesystem::path& path, const std::string& key);

/// Adds a line, unless the file has one for this day and pass, by replacing the file with a new one. Processes that do
/// so at the same time wait for each other. Throws as wants_done_line, and io.
void add_done_line(const std::filesystem::path& file, const DoneLine& line, const std::filesystem::path& path);

}  // namespace ckpt::cli
