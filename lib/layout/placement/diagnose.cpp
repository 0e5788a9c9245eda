#include "layout/placement/diagnose.hpp"

#include <algorithm>
#include <numeric>

namespace ckpt {

namespace {

bool gives(std::uint64_t size, const std::vector<std::uint64_t>& counts, Uneven uneven,
           const std::vector<std::uint64_t>& found) {
  CutSpec spec;
  spec.counts = counts;
  spec.uneven = uneven;
  const DimCut cut(size, spec);
  std::uint64_t p = 0;
  return found.size() == cut.pieces() &&
         std::all_of(found.begin(), found.end(), [&](std::uint64_t extent) { return extent == cut.extent(p++); });
}

}  // namespace

std::string explain_piece_sizes(const std::vector<std::uint64_t>& found, const CutSpec& spec) {
  const std::uint64_t total = std::accumulate(found.begin(), found.end(), std::uint64_t{0});
  const bool is_even = std::adjacent_find(found.begin(), found.end(), std::not_equal_to<>()) == found.end();
  if (!is_even && spec.sizes.empty() && !spec.parts && !spec.pad)  // equal pieces fit any value of "uneven"
    for (const auto& [uneven, word] : {std::pair{Uneven::ceil, "ceil"}, std::pair{Uneven::balanced, "balanced"}})
      if (spec.uneven != uneven && gives(total, spec.counts, uneven, found))
        return std::string("was it cut with \"uneven\": \"") + word + "\"? (" + std::to_string(total) +
               " elements give " + format_list(found) + ")";
  if (spec.declared_size() && is_even && total > *spec.declared_size()) {
    const std::uint64_t extra = total - *spec.declared_size();
    return "is it padded by " + std::to_string(extra) + "? (" + std::to_string(found.size()) + " pieces of " +
           std::to_string(found.front()) + ")";
  }
  return "";
}

std::string explain_shape(const Shape& found, const Shape& expected, const Shape& logical,
                          const std::vector<CutSpec>& dims, const std::vector<std::string>& axis_names) {
  if (found.size() == expected.size() && found.size() > 1 && !(found == expected)) {
    Shape reversed = found;
    std::reverse(reversed.begin(), reversed.end());
    if (reversed == expected) return "is it stored transposed (\"permute\")?";
  }
  if (found == logical) return "is it replicated rather than split?";
  if (found.size() != logical.size()) return "";
  for (std::size_t d = 0; d < found.size(); ++d) {
    if (found[d] == expected[d] || dims.size() != found.size()) continue;
    const CutSpec& spec = dims[d];
    if (spec.parts && !spec.parts->sizes.empty())
      return "the sizes of \"parts\" add up to " + std::to_string(logical[d]) + " in dimension " + std::to_string(d) +
             ", and " + std::to_string(spec.pieces()) + (spec.pieces() == 1 ? " piece" : " pieces") + " of " +
             std::to_string(found[d]) + " to " + std::to_string(spec.pieces() * found[d]);
    if (found[d] != 0 && logical[d] % found[d] == 0 && !spec.pad && !spec.parts && spec.sizes.empty()) {
      const std::uint64_t k = logical[d] / found[d];
      if (spec.axes.size() == 1) return "was it saved with " + axis_names[spec.axes[0]] + "=" + std::to_string(k) + "?";
      if (spec.axes.empty())
        return "is dimension " + std::to_string(d) + " split over " + std::to_string(k) + " cards?";
    }
    if (found[d] > expected[d])
      return "is dimension " + std::to_string(d) + " padded by " + std::to_string(found[d] - expected[d]) +
             " on each card?";
  }
  return "";
}

}  // namespace ckpt
