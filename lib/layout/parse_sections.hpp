#pragma once

#include <vector>

#include "layout/layout.hpp"
#include "layout/parse_node.hpp"

namespace ckpt::parsing {

// One function for each top-level key of a layout, well formed and consistent in itself when it returns.
Mesh parse_mesh(const Node& node);
CardFiles parse_files(const Node& node, const Mesh& mesh);
std::vector<Rule> parse_rules(const Node& node, const Mesh& mesh);
std::vector<Rename> parse_renames(const Node& node, const Mesh& mesh);
/// Notes with the entries of `files` which coordinates stand in the names of arrays. Refuses them beside tables.
void note_card_names(const Node& root, Layout& layout);
std::vector<IndexRule> parse_indices(const Node& node, const Mesh& mesh);
std::vector<Bucket> parse_buckets(const Node& node, const Mesh& mesh);
std::vector<KeyedTable> parse_tables(const Node& node, const Mesh& mesh);
/// What "format": "paddle-text" says of a table whose name and place are known.
void parse_paddle_text(const Node& node, std::uint64_t servers, KeyedTable& table);
/// Refuses beside tables of text what only files of datasets have. `root` is the layout.
void check_paddle_text(const Node& root, const std::vector<KeyedTable>& tables);

/// Refuses rules whose `like` leads back to themselves, as far as the rules alone show it: others come to light with
/// the names of a checkpoint. `node` is the list of the rules.
void check_like_cycles(const Node& node, const std::vector<Rule>& rules);

}  // namespace ckpt::parsing
