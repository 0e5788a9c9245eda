#pragma once

#include <memory>
#include <set>

namespace ckpt {

/// A set of blocks of memory, each of which stays unchanged while somebody holds it.
using Lease = std::set<std::shared_ptr<const void>>;

}  // namespace ckpt
