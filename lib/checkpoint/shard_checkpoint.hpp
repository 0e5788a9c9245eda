#pragma once

#include "checkpoint/checkpoint_probe.hpp"

namespace ckpt {

/// If tables of a layout are Paddle's text, turns what was seen into a checkpoint with a card for each shard, beside
/// the layout's own cards, whose files have datasets (shard_catalog). Reads all files and checks each line. Collective;
/// throws usage if the layout names its own files by card, input, naming file and line, as count_lines and
/// find_text_tables do.
void take_shards_as_cards(CheckpointProbe& seen, Communicator& processes);

}  // namespace ckpt
