#pragma once

#include <vector>

#include "layout/language/layout.hpp"
#include "layout/language/parse_node.hpp"

namespace ckpt::parsing {

// One function for each top-level key of a layout; the result is well formed and consistent in itself.
Mesh parse_mesh(const Node& node);
CardFiles parse_files(const Node& node, const Mesh& mesh);
std::vector<Rule> parse_rules(const Node& node, const Mesh& mesh);
std::vector<Rename> parse_renames(const Node& node, const Mesh& mesh);
/// Records in the entries of `files` which coordinates occur in the names of arrays. Refuses such names beside tables.
void note_card_names(const Node& root, Layout& layout);
std::vector<IndexRule> parse_indices(const Node& node, const Mesh& mesh);
std::vector<Bucket> parse_buckets(const Node& node, const Mesh& mesh);
std::vector<KeyedTable> parse_tables(const Node& node, const Mesh& mesh);
/// Parses the keys of "format": "paddle-text", for a table whose name and place are known.
void parse_paddle_text(const Node& node, std::uint64_t servers, KeyedTable& table);
/// Refuses keys that apply only to files of datasets if there are text tables. `root` is the layout.
void check_paddle_text(const Node& root, const std::vector<KeyedTable>& tables);

/// Refuses cycles of `like`, as far as the rules alone show them: others appear only with the names of a checkpoint.
/// `node` is the list of the rules.
void check_like_cycles(const Node& node, const std::vector<Rule>& rules);

}  // namespace ckpt::parsing
