#pragma once

#include <filesystem>
#include <memory>

#include "store/store.hpp"

namespace ckpt::hdf5 {

/// `chunks`: the cache for its decoded chunks, shared with other files.
std::unique_ptr<SourceFile> open_source(const std::filesystem::path& file, const FileCatalog& catalog,
                                        std::shared_ptr<DecodedChunks> chunks);

}  // namespace ckpt::hdf5
