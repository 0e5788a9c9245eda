#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/found_files.hpp"
#include "checkpoint/reference.hpp"
#include "draft/open.hpp"
#include "jobs/resources.hpp"
#include "layout/layout.hpp"

namespace ckpt::drafting {

struct DraftJob {
  FoundFiles files;
  std::optional<Mesh> mesh;              ///< axes and sizes; nothing: as far as names and bytes tell
  const Reference* reference = nullptr;  ///< the whole tensors; null: none
  std::vector<Pattern> may_be_missing;   ///< its tensors that the checkpoint need not have
  Resources resources;
};

/// What a checkpoint's names, shapes and bytes say of its layout.
struct Draft {
  Layout layout;                   ///< with rules for all parameters but the open ones, for which it has none
  OpenNames open;                  ///< what is left to the user
  std::vector<std::string> notes;  ///< what is taken for granted, for the user to know
  std::uint64_t bytes_read = 0;    ///< of data
  std::uint64_t bytes = 0;         ///< of the checkpoint's files
};

/// Drafts a layout. Hypotheses come from names, shapes and samples of the bytes; each is resolved by the library and
/// compared with samples of the reference; in the end all copies are compared with one another and every byte with the
/// reference. What any of that refutes is open. One process that sees all files does it. Throws input for files that
/// cannot be read or are not those of a mesh.
Draft make_draft(const DraftJob& job, SourceStore& store);

}  // namespace ckpt::drafting
