#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/reference.hpp"
#include "jobs/resources.hpp"

namespace ckpt::drafting {

/// What is wrong with the rules of a draft, by parameter; empty: every byte is as they say.
using Refuted = std::map<std::string, std::string>;

/// The whole data against the layout that it was opened with: copies that are no copies, and parameters that are not
/// what the reference (null: none) has under their names. `taken` are the parameters that count.
struct ToProve {
  const Checkpoint& checkpoint;
  const Reference* reference = nullptr;
  Keep taken;
};
Refuted refute(const ToProve& draft, const Resources& resources, SourceStore& store, std::uint64_t& bytes_read);

}  // namespace ckpt::drafting
