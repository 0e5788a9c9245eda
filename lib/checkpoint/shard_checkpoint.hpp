#pragma once

#include "checkpoint/look.hpp"

namespace ckpt {

/// Where tables of a layout are Paddle's text, makes of what was seen a checkpoint with a card for each shard, beside
/// the layout's own, whose files have datasets (shard_catalog): all files are read, and each line is checked.
/// Collective; throws usage for a layout whose own files go by card, input, naming file and line, as count_lines and
/// find_text_tables.
void take_shards_as_cards(Look& seen, Communicator& processes);

}  // namespace ckpt
