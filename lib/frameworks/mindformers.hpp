#pragma once

#include <filesystem>
#include <string>

#include "frameworks/dist_files.hpp"

namespace ckpt {

/// Recognises a checkpoint of MindFormers ("Checkpoint 2.0", use_legacy_format: False): ranks' safetensors, whose
/// pieces metadata.json names; or a run of them, whose latest_checkpointed_iteration.txt names the newest.
bool is_mindformers(const std::filesystem::path& directory);

/// Describes such a directory. Throws input if files are missing or are not as metadata.json says, and for pieces that
/// do not make up their tensors.
DirectoryDescription describe_mindformers(const std::filesystem::path& directory, SourceStore& store);

/// Parses the text of metadata.json: pieces are boxes; storage_data names the files of each by the text of a tuple of
/// Python, "('name', (0, 128))". `origin` names it in errors. Throws input.
/// https://gitee.com/mindspore/mindformers, mindformers/checkpoint/metadata.py
DistMetadata parse_mindformers(const std::string& text, const std::string& origin);

}  // namespace ckpt
