#pragma once

#include <filesystem>
#include <memory>

#include "store/store.hpp"
#include "store/viewed_files.hpp"

namespace ckpt::hdf5 {

/// `chunks`: the cache for its decoded chunks, shared with other files. `viewed`: the files whose elements it may show.
std::unique_ptr<SourceFile> open_source(const std::filesystem::path& file, const FileCatalog& catalog,
                                        std::shared_ptr<DecodedChunks> chunks, std::shared_ptr<ViewedFiles> viewed);

}  // namespace ckpt::hdf5
