#pragma once

#include <optional>

#include "jobs/reshard.hpp"

namespace ckpt {

/// Both layouts of a job whose tables are Paddle's text on both sides.
struct TextLayouts {
  Layout source;
  Layout target;
};

/// Nothing where the target is no text. Throws usage where only the target is. Collective.
std::optional<TextLayouts> text_layouts(const ReshardJob& job, Communicator& processes);

/// Runs such a job: lines go to other files as they are. Collective; throws as `reshard`.
Report reshard_text(const ReshardJob& job, TextLayouts layouts, Stores& stores, Communicator& processes,
                    Counters& counters);

}  // namespace ckpt
