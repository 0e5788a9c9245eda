#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/reference.hpp"
#include "compare/mismatch.hpp"
#include "jobs/types/resources.hpp"

namespace ckpt::drafting {

/// Errors in a draft's rules, by parameter; empty: every byte is as the rules say.
using Refutations = std::map<std::string, std::string>;

/// The input of a comparison of all data with the layout that it was opened with: it finds copies that are not copies,
/// and parameters that differ from the reference's (null: none) under their names. `taken`: the parameters that count.
struct ProofInput {
  const Checkpoint& checkpoint;
  const Reference* reference = nullptr;
  std::optional<Tolerance> tolerance;  ///< of the reference's values; absent: they are the same
  Keep taken;
};
Refutations refute(const ProofInput& draft, const Resources& resources, SourceStore& store, std::uint64_t& bytes_read);

}  // namespace ckpt::drafting
