#include "inspect/names_view.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "jobs/name_maps.hpp"
#include "report/render.hpp"
#include "report/table.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt::cli {

namespace {

/// A tensor's links, in figures.
struct LinkFigures {
  std::uint64_t copies = 0;
  std::uint64_t shortest_run = 0;  ///< elements
};

LinkFigures figures_of(const TensorLinks& links, const Shape& shape, const Placement& source) {
  LinkFigures figures;
  const Shape target_strides = row_major_strides(shape);
  links.for_each(whole(shape), [&](ParameterId from, const Link& link) {
    const Shape source_strides = row_major_strides(source.tensors()[from].shape);
    Shape at_source(link.size.size());
    Shape at_target(link.size.size());
    for (std::size_t k = 0; k < link.size.size(); ++k) {
      at_source[k] = link.source.steps[k] * source_strides[link.source.dims[k]];
      at_target[k] = link.target.steps[k] * target_strides[link.target.dims[k]];
    }
    const std::uint64_t run = strided_copy(link.size, at_source, at_target, 1).run;
    figures.shortest_run = figures.copies == 0 ? run : std::min(figures.shortest_run, run);
    ++figures.copies;
  });
  return figures;
}

}  // namespace

Lines names_text(const Placement& placement, const NameChoice& names, std::optional<std::size_t> width) {
  const Selection selection = select(names, placement);
  using Column = Table::Column;
  Table table({{"tensor", Column::Kind::flexible},
               {"dtype"},
               {"shape"},
               {"copies", Column::Kind::number},
               {"shortest run", Column::Kind::number},
               {"of", Column::Kind::flexible}});
  for (std::size_t i = 0; i < selection.tensors.size(); ++i) {
    const Tensor& tensor = selection.tensors[i];
    LinkFigures figures{1, numel(tensor.shape)};
    std::vector<std::string> sources{placement.tensors()[selection.source_of[i]].name};
    if (const TensorLinks* const links = selection.links_of(i)) {
      figures = figures_of(*links, tensor.shape, placement);
      links->for_each_source([&](ParameterId from) { sources.push_back(placement.tensors()[from].name); });
    }
    std::set<std::string> seen;
    std::erase_if(sources, [&](const std::string& name) { return !seen.insert(name).second; });
    table.add({tensor.name, tensor.dtype.name.str(), to_string(Shape(tensor.shape)), std::to_string(figures.copies),
               std::to_string(figures.shortest_run), join(sources, 3)});
  }
  Lines lines = table.lines(width);
  for (const std::string& note : selection.notes) lines.add(note);
  return lines;
}

Lines ready_maps_text(const Placement& placement, std::optional<std::size_t> width) {
  std::vector<std::string> names;
  for (const Tensor& tensor : placement.tensors()) names.push_back(tensor.name);
  using Column = Table::Column;
  Table table({{"map"},
               {"side"},
               {"takes", Column::Kind::number},
               {"of", Column::Kind::number},
               {"other side"},
               {"for models", Column::Kind::flexible}});
  for (const MapFit& fit : fits_of_ready_maps(names))
    table.add(
        {fit.map, fit.side, std::to_string(fit.taken), std::to_string(names.size()), fit.other_side, join(fit.models)});
  Lines lines = table.lines(width);
  lines.add("").add("of several maps that take all names, the model_type in config.json decides: merge --like HF_DIR");
  return lines;
}

}  // namespace ckpt::cli
