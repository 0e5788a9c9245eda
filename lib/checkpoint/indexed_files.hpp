#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_probe.hpp"
#include "checkpoint/found_files.hpp"
#include "checkpoint/reference_json.hpp"

namespace ckpt {

/// An index of files of tensors (`model.safetensors.index.json`), as it was found.
struct IndexText {
  std::filesystem::path path;
  std::string text;
};

/// Whether a file is an index: by its name (*.index.json, *.index.fp16.json), or JSON with a weight_map.
bool is_index(const std::filesystem::path& path);

/// The index that a path is, or the only one in a directory; nothing where there is none. Collective, called with the
/// same `is_single_file` everywhere; throws input for two in one directory.
std::optional<IndexText> find_index(const std::filesystem::path& path, bool is_single_file, Communicator& processes);

/// The files that an index names; nothing where it is JSON of a reference's other form. Throws input where the text is
/// not that of an index, whatever the file's name.
WeightMap weight_map_of(const IndexText& index);

/// Why a file whose name is an index's, and that is JSON of a reference's other form, is none.
Error no_weight_map(const std::filesystem::path& file);

/// What an index says: each file beside it is a card that holds its tensors whole. Their metadata is read, shared out
/// over the processes. Collective. A tensor that is in the index and not in its file, or the other way, is one of
/// CheckpointProbe::contradictions. What MindSpore has in hyper_param.safetensors beside such an index is taken along.
CheckpointProbe probe_indexed(const std::filesystem::path& index, const WeightMap& map, SourceStore& store,
                              Communicator& processes);

}  // namespace ckpt
