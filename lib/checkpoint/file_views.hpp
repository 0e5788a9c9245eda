#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layout/names/file_table.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// A file as one process sees it. Equal size and time count as the same file.
struct SeenFile {
  static constexpr std::uint64_t not_seen = ~std::uint64_t{0};
  std::uint64_t bytes = not_seen;
  std::int64_t modified_ns = 0;  ///< since the epoch

  bool is_seen() const noexcept { return bytes != not_seen; }
  friend bool operator==(const SeenFile&, const SeenFile&) = default;
};

/// How one process sees a checkpoint's files, by file number.
struct FileView {
  std::string host;
  std::vector<SeenFile> files;
};

/// The combined view of all processes.
struct MergedView {
  std::vector<SeenFile> files;                  ///< each as the processes see it that may read it
  Owners owners;                                ///< which process reads each card's files; empty where all see the same
  std::string warning;                          ///< about files that are not the same everywhere; else empty
  std::map<FileNumber, std::string> differing;  ///< the newest and the oldest version of each of them, and who sees it
};

/// A checkpoint's files, as messages name them and cards own them.
struct NamedFiles {
  std::function<std::string(FileNumber)> name_of;
  std::vector<std::vector<FileNumber>> of_card;  ///< the files that each card owns, by position
};

/// Gives a card's files together to the least loaded process that sees them all. Where processes see different times
/// of a file, only the newest version is read: an older one may be left from another step on a node's disk. Throws
/// input if sizes differ, or if no process sees all files of a card.
MergedView merge_views(const std::vector<FileView>& views, const NamedFiles& names);

/// merge_views of every process's view; exchanges the views only if they differ. Collective.
MergedView merge_views(const std::vector<SeenFile>& mine, const NamedFiles& names, Communicator& processes);

/// The error about a file of which processes see different versions (MergedView::differing). It may pass: a network's
/// file system shows a change to some later than to others.
Error differing_versions(const std::string& name, const std::string& sights);

/// Returns the text that every process which has one agrees on, or nothing. Throws input if two differ; `what` names
/// it.
std::string agreed_text(const std::vector<std::string>& texts, const std::string& what, const Communicator& processes);

}  // namespace ckpt
