#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/manifest.hpp"
#include "layout/language/layout.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

class Checkpoint;

/// What jobs use of a source's manifest. It is read and parsed once a job, and handed on from there.
struct CarriedManifest {
  std::string directory = {};  ///< empty: a merged file has it
  bool is_there = false;       ///< for any process
  bool is_read_here = false;   ///< another process's has the same size, time and inode, and was read instead
  bool is_sealed = false;      ///< as it was written
  std::string layout = {};     ///< as JSON; empty with `damage`
  std::string merged_by = {};  ///< ManifestHistory::merged_by
  std::map<std::string, ManifestTable> tables = {};  ///< the conditions that chose their rows, and their layers
  /// By parameter; only where it was read, and if it is sealed.
  std::map<std::string, std::string> fingerprints = {};
  std::string digest = {};              ///< of the text, if several processes look
  std::optional<Error> unread = {};     ///< why it cannot be read
  std::optional<Error> damage = {};     ///< why its layout does not count: `unread`, or what is wrong with the text
  std::optional<Error> differing = {};  ///< two processes see different ones
};
using SharedManifest = std::shared_ptr<const CarriedManifest>;

/// What a manifest's text says; `origin` is for messages.
CarriedManifest said_in(const std::string& text, const std::string& origin);

/// Reads the manifest in a directory, on one of the processes that see the same file. Collective; what is wrong with it
/// is in the result.
SharedManifest read_carried(const std::filesystem::path& directory, Communicator& processes);

/// The layout in a directory's manifest, as any process sees it. Collective; throws input if two processes see
/// different ones, and layout if it is none.
std::optional<Layout> carried_layout(const SharedManifest& manifest, Communicator& processes);

/// The manifest of an open checkpoint, which is read at the first call unless it was read before. Collective then;
/// throws input if it cannot be read.
const CarriedManifest& carried_manifest(const Checkpoint& checkpoint, Communicator& processes);

/// As one process sees it: whether it reads a manifest that others see, too. Of several processes that see a file of
/// one size, time and inode, the first reads it. Collective.
struct ManifestSights {
  bool is_anywhere = false;
  bool is_here = false;
  int reader = 0;                    ///< the first process that sees one
  bool is_mine = false;              ///< this process reads what it sees
  std::optional<Error> unseen = {};  ///< why this process cannot look at it
};
ManifestSights see_manifest(const std::filesystem::path& directory, Communicator& processes);

/// The layout by whose rules a checkpoint was merged, as its manifest keeps it; nothing where it keeps none.
/// Collective; throws layout if that is no layout, and input if two processes see different manifests.
std::optional<Layout> merged_by(const Checkpoint& checkpoint, Communicator& processes);

/// The conditions that chose the rows of a checkpoint's tables, and the checkpoints that the rows come from. Where
/// nobody has called `carried_manifest`, this process looks alone.
const std::map<std::string, ManifestTable>& tables_in_manifest(const Checkpoint& checkpoint);

/// All conditions that a table's rows have gone through.
std::vector<KeptRows> all_kept(const ManifestTable& table);

/// The warning that parameters no longer have the fingerprints in their checkpoint's manifest.
std::string changed_warning(const std::string& path, const std::vector<std::string>& parameters);

}  // namespace ckpt
