#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ckpt {

/// Whether something is at a path, even a dangling link. Throws io if that cannot be determined.
bool is_there(const std::filesystem::path& path);

/// The path that a path leads to, with links followed as far as it exists. Throws io.
std::filesystem::path resolved(const std::filesystem::path& path);

/// Whether one path leads to another or below it, through whatever links and mounts.
bool is_within(const std::filesystem::path& inner, const std::filesystem::path& outer);

/// The names that belong to an output DST, which a job makes, replaces or removes.
struct OutputPlaces {
  /// "a/b/" is "a/b". Throws usage for a path whose last part is not a name: "/", ".", "a/..".
  explicit OutputPlaces(const std::filesystem::path& output);

  std::filesystem::path target;   ///< DST
  std::filesystem::path partial;  ///< DST.partial: what becomes DST
  std::filesystem::path lock;     ///< DST.partial.lock: who writes it
  std::filesystem::path journal;  ///< DST.partial.journal: the progress of a single file

  std::vector<std::filesystem::path> all() const { return {target, partial, lock, journal}; }
  /// Throws io if these names, or `files` below DST.partial, are longer than the file system allows.
  void check_lengths(const std::vector<std::string>& files) const;
};

/// Finds whether files that a job reads are among those that it would overwrite. Resolves a directory once, however
/// many files it holds.
class OverlapCheck {
 public:
  explicit OverlapCheck(const OutputPlaces& places);
  /// Throws usage, naming the file, if it leads to one of the places or below it.
  void check(const std::filesystem::path& file);

 private:
  struct Place {
    std::filesystem::path path;
    std::filesystem::path real;
    bool is_file = false;
  };
  std::filesystem::path resolved_file(const std::filesystem::path& file);

  std::vector<Place> places_;
  std::map<std::filesystem::path, std::filesystem::path> directories_;  // resolved
  std::set<std::filesystem::path> looked_at_;                           // those that were checked
};

/// Waits until a directory's entries are on the disk.
void sync_directory(const std::filesystem::path& directory);

}  // namespace ckpt
