#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layout/language/layout.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// Returns an error if FSDP1 saved its own state (LOCAL_STATE_DICT), whose metadata do not suffice: a flat parameter
/// does not say which parameters lie in it or where, and each rank has only its part of the parameters beside it, or of
/// all parameters (use_orig_params=True). `names` and `catalogs` are parallel; `origin`: the files' name in messages.
/// https://github.com/pytorch/pytorch,
/// torch/distributed/fsdp/_flat_param.py
std::optional<Error> flat_parameters_alone(const std::vector<std::string>& names,
                                           const std::vector<FileCatalog>& catalogs, const std::string& origin);

/// Whether files hold such flat parameters, readable or not.
bool hold_flat_parameters(const std::vector<FileCatalog>& files);

/// Returns the vectors beside flat parameters of which files hold unequal lengths and say no places: each rank's parts
/// of parameters (use_orig_params=True).
std::set<std::string> parts_of_flat(const std::vector<FileCatalog>& files);

/// Marks such flat parameters as unreadable in a file that is read by its own metadata, so that keeping one is an
/// error, and the `parts` beside them. Leaves alone those whose members a bucket of `layout` lists.
void refuse_flat_parameters(FileCatalog& catalog, const Layout* layout = nullptr,
                            const std::set<std::string>& parts = {});

}  // namespace ckpt
