#include "frameworks/ranks_told.hpp"

namespace ckpt {

/// DeepSpeed's.
bool follows_from_ranks(std::string_view name) {
  return name == "group_paddings" || name.find("optimizer_state_dict/param_slice_mappings/") != std::string_view::npos;
}

}  // namespace ckpt
