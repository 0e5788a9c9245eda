#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "layout/file_table.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// A file as one process sees it. Two that see the same size and the same time see the same file.
struct SeenFile {
  static constexpr std::uint64_t not_seen = ~std::uint64_t{0};
  std::uint64_t bytes = not_seen;
  std::int64_t modified_ns = 0;  ///< since the epoch

  static auto fields(auto& self) { return std::tie(self.bytes, self.modified_ns); }
  bool is_seen() const noexcept { return bytes != not_seen; }
  friend bool operator==(const SeenFile&, const SeenFile&) = default;
};

/// What one process sees of a checkpoint's files, by their numbers.
struct FileView {
  std::string host;
  std::vector<SeenFile> files;

  static auto fields(auto& self) { return std::tie(self.host, self.files); }
};

/// What all of them see together.
struct FilesTogether {
  std::vector<SeenFile> files;  ///< each as those see it that may read it
  Owners owners;                ///< which process reads each card's; empty where all see the same
  std::string warning;          ///< of files that are not the same everywhere, or nothing
};

/// The files of a checkpoint, as messages and owners need them.
struct NamedFiles {
  std::function<std::string(FileNumber)> name_of;
  std::vector<std::vector<FileNumber>> of_card;  ///< by position: those that it owns
};

/// A card's files go together to the least loaded of the processes that see them all. Where a file's time differs, only
/// the newest is read: an older one may be another step's, left behind on a node's disk. Throws input where sizes
/// differ, or no process sees all the files of a card.
FilesTogether put_together(const std::vector<FileView>& views, const NamedFiles& names);

/// put_together of what each process sees; the views go round only where they differ. Collective.
FilesTogether put_together(const std::vector<SeenFile>& mine, const NamedFiles& names, Communicator& processes);

/// The text that all processes have which have one, or nothing. Throws input where theirs differ; `what` names it.
std::string one_text(const std::vector<std::string>& texts, const std::string& what);

}  // namespace ckpt
