#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "output/places.hpp"
#include "store/store.hpp"

namespace ckpt {

/// What exists at a place: files of these programs, which may be replaced or cleared, and foreign ones.
struct ExistingOutput {
  std::vector<std::filesystem::path> files;        ///< these programs' own
  std::vector<std::filesystem::path> directories;  ///< that hold them, outer before inner
  std::vector<std::string> foreign;                ///< the first few, in words: "notes.txt", "p (a FIFO)"
  /// Small files of others that belong beside a checkpoint (config.json), relative to the directory: the new output
  /// takes them over.
  std::vector<std::filesystem::path> kept;

  /// Throws io, naming foreign files, if there are any.
  void check_own(const std::filesystem::path& place, const std::string& remedy) const;
  /// Removes the own files and nothing else: a directory stays if something else is in it. Throws io.
  void remove() const;
};

/// Distinguishes the files that a job may replace or clear from all others, by name and content.
class OwnFiles {
 public:
  /// `target`: the layout of the output; `sidecars`: the names of its other files.
  OwnFiles(const Layout& target, bool is_single_file, const std::vector<std::string>& sidecars, Store& store);

  /// The names of the files to be written.
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// An output that is to be replaced. Own: a checkpoint that these programs wrote; a file of the kind that is to be
  /// written; a directory of such files whose names the target, or a manifest in it, lists, and an index of these.
  ExistingOutput output(const std::filesystem::path& place) const;
  /// An unfinished output with its journal, perhaps another job's.
  ExistingOutput partial(const OutputPlaces& places) const;

 private:
  /// `replaced`: of an unfinished output, what it is to replace.
  void look(const std::filesystem::path& place, const std::filesystem::path* replaced, ExistingOutput& found) const;
  void look_into(const std::filesystem::path& place, const std::filesystem::path* replaced,
                 ExistingOutput& found) const;
  bool is_own_file(const std::filesystem::path& file) const;
  std::optional<Layout> layout_in(const std::filesystem::path& file, const char* mark, const char* key) const;

  /// What a manifest or a journal's description said. An output is judged several times until it is replaced; a file
  /// that is still the one that was read, and unchanged, is not read again.
  struct Said {
    std::array<std::uint64_t, 5> identity{};  ///< device, inode, size, and when it was modified and changed
    std::optional<Layout> layout;
  };

  std::vector<std::string> names_;
  bool is_single_file_;
  Store& store_;
  mutable std::vector<Said> said_;
};

/// The parts of the journal of an unfinished output.
inline constexpr const char* journal_name = ".journal";
inline constexpr const char* job_name = "job";
inline constexpr const char* job_draft_name = "job.new";

}  // namespace ckpt
