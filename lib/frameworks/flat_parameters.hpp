#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layout/layout.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// Why the files of ranks cannot be read by what they say of themselves, where FSDP1 has saved its own state
/// (LOCAL_STATE_DICT): a flat parameter says neither which parameters lie in it nor where, and those that stand beside
/// it are each rank's part of them. Nothing where there is none. `names` and `catalogs` are parallel; `origin`: what
/// the message calls the files. https://github.com/pytorch/pytorch, torch/distributed/fsdp/_flat_param.py
std::optional<Error> flat_parameters_alone(const std::vector<std::string>& names,
                                           const std::vector<FileCatalog>& catalogs, const std::string& origin);

/// Whether there are such flat parameters in files, readable or not.
bool hold_flat_parameters(const std::vector<FileCatalog>& files);

/// Makes unreadable what is such a flat parameter in a file that is read by what it says of itself, so that it is an
/// error where it is kept. Not what a bucket of `layout` tells the members of.
void refuse_flat_parameters(FileCatalog& catalog, const Layout* layout = nullptr);

}  // namespace ckpt
