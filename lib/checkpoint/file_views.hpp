#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

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

/// What one process sees of a checkpoint's files, by position.
struct FileView {
  std::string host;
  std::vector<SeenFile> files;

  static auto fields(auto& self) { return std::tie(self.host, self.files); }
};

/// What all of them see together.
struct FilesTogether {
  std::vector<SeenFile> files;  ///< each as those see it that may read it
  Owners owners;                ///< which process reads each; empty where all see the same
  std::string warning;          ///< of files that are not the same everywhere, or nothing
};

/// Each file goes to the least loaded of the processes that see it. Where its time differs, only the newest is read: an
/// older one may be another step's, left behind on a node's disk. Throws input where sizes differ. `name_of` gives a
/// file's name.
FilesTogether put_together(const std::vector<FileView>& views, const std::function<std::string(Position)>& name_of);

/// put_together of what each process sees; the views go round only where they differ. Collective.
FilesTogether put_together(const std::vector<SeenFile>& mine, const std::function<std::string(Position)>& name_of,
                           Communicator& processes);

/// The text that all processes have which have one, or nothing. Throws input where theirs differ; `what` names it.
std::string one_text(const std::vector<std::string>& texts, const std::string& what);

}  // namespace ckpt
