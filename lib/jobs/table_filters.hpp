#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "jobs/selection.hpp"
#include "keyed/row_filter.hpp"

namespace ckpt {

/// The filter of each table, by the rules; nothing: no rule is for it. It may read datasets that are not taken. Throws
/// usage for a rule that is for no table, two that are for one, and conditions that cannot be understood.
std::vector<std::optional<RowFilter>> table_filters(const std::vector<KeepRule>& rules,
                                                    const std::vector<StoredTable>& tables, const Placement& source);

/// Of each table the number of the one whose rows it follows (is_tail_of); nothing: it stands for itself.
std::vector<std::optional<std::size_t>> table_leaders(const std::vector<StoredTable>& tables);

}  // namespace ckpt
