#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/found_files.hpp"
#include "checkpoint/reference.hpp"
#include "compare/mismatch.hpp"
#include "diagnosis/draft/open.hpp"
#include "jobs/types/resources.hpp"
#include "layout/language/layout.hpp"

namespace ckpt::drafting {

struct DraftJob {
  FoundFiles files;
  std::optional<Mesh> mesh;              ///< axes and sizes; absent: determined from names and bytes
  const Reference* reference = nullptr;  ///< the whole tensors; null: none
  std::vector<Pattern> may_be_missing;   ///< tensors of the reference that the checkpoint need not have
  std::vector<Pattern> unfused;          ///< parameters of which the user says that no dimension is fused
  std::optional<Tolerance> tolerance;    ///< the reference is of another step: how near its values are
  Resources resources;
};

/// A checkpoint's layout, as far as its names, shapes and bytes show it.
struct Draft {
  Layout layout;                   ///< with rules for all parameters but the open ones
  OpenNames open;                  ///< what is left to the user
  std::vector<std::string> notes;  ///< assumptions that the user should know
  std::uint64_t bytes_read = 0;    ///< of data
  std::uint64_t bytes = 0;         ///< of the checkpoint's files
};

/// Drafts a layout. Hypotheses come from names, shapes and samples of the bytes. The library resolves each one, and its
/// result is compared with samples of the reference; in the end all copies are compared with one another and every byte
/// with the reference. Whatever that refutes is open. One process that sees all files does the work. Throws input for
/// files that cannot be read or are not those of a mesh.
Draft make_draft(const DraftJob& job, SourceStore& store);

}  // namespace ckpt::drafting
