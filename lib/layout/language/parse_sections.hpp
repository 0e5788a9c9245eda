#pragma once

#include <string_view>
#include <vector>

#include "layout/language/form.hpp"
#include "layout/language/layout.hpp"

namespace ckpt::parsing {

// The values of a layout's top-level keys, or of the items of their lists; what is read is consistent in itself.
const Form<Mesh>& mesh_form();
const Form<CardFiles>& files_form();
const Form<std::vector<Rule>>& rules_form();
const Form<std::vector<Rename>>& renames_form();
const Form<IndexRule>& index_form();
const Form<std::vector<Bucket>>& buckets_form();
const Form<std::vector<KeyedTable>>& tables_form();
/// A table of "format": "paddle-text".
const Form<KeyedTable>& text_table_form();

// Keys that all tables have. The words of `filters` are read last, by read_filters: they name the table's fields.
ObjectForm<KeyedTable>::Key table_axis_key(std::string_view says);
ObjectForm<KeyedTable>::Key table_place_key(std::string_view says, const std::string& schema);
ObjectForm<KeyedTable>::Key table_filters_key();
void read_filters(const Node& table_node, KeyedTable& table);

/// Records in the entries of `files` which coordinates occur in the names of arrays. Refuses such names beside tables.
void note_card_names(const Node& root, Layout& layout);
/// Refuses keys that apply only to files of datasets if there are text tables. `root` is the layout.
void check_paddle_text(const Node& root, const std::vector<KeyedTable>& tables);
/// Refuses cycles of `like`, as far as the rules alone show them: others appear only with the names of a checkpoint.
/// `node` is the list of the rules.
void check_like_cycles(const Node& node, const std::vector<Rule>& rules);

}  // namespace ckpt::parsing
