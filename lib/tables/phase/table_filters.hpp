#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "jobs/types/selection.hpp"
#include "tables/keyed/row_filter.hpp"

namespace ckpt {

/// The filter of each table, by the rules; nothing where no rule applies. A filter may read datasets that are not
/// taken. Throws usage for a rule that applies to no table, two that apply to one, and invalid conditions.
std::vector<std::optional<RowFilter>> table_filters(const std::vector<KeepRule>& rules,
                                                    const std::vector<StoredTable>& tables, const Placement& source);

/// For each table, the number of the one whose rows it follows (is_tail_of); nothing if it follows none.
std::vector<std::optional<std::size_t>> table_leaders(const std::vector<StoredTable>& tables);

}  // namespace ckpt
