#include "output/sidecars.hpp"

#include <algorithm>

#include "frameworks/dcp.hpp"
#include "frameworks/torch_dist.hpp"
#include "frameworks/tree_fit.hpp"

namespace ckpt {

std::span<const Sidecar> files_of_source(const Checkpoint& source, const Store& format) {
  const bool is_same_format = std::all_of(source.files().begin(), source.files().end(),
                                          [&](const FileCatalog& file) { return has_form_of(file, format); });
  if (!is_same_format) return {};
  return source.sidecars();
}

std::vector<std::string> sidecar_names(const Checkpoint& source, const Layout& target, const Store& format) {
  std::vector<std::string> names;
  if (is_torch_dist(format))
    names = dcp_sidecar_names(target);
  else
    for (const Sidecar& file : files_of_source(source, format)) names.push_back(file.name);
  if (auto file = latest_sidecar(target)) names.push_back(std::move(file->name));
  return names;
}

std::vector<std::string> sidecar_names(const Layout& target) {
  std::vector<std::string> names = dcp_sidecar_names(target);
  if (auto file = latest_sidecar(target)) names.push_back(std::move(file->name));
  return names;
}

}  // namespace ckpt
