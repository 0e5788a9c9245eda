#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ckpt::orbax {

/// A key of a new database, with its value: bytes, or where they lie.
struct WrittenEntry {
  std::string key;
  std::string inlined;
  std::optional<std::uint32_t> file;  ///< an index into the list of files; nothing: `inlined`
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct OcdbtTexts {
  std::string node;      ///< the B+tree: one leaf
  std::string manifest;  ///< names the file with the node
};

/// Makes the files that describe a database of one version, without compression. Throws input if a key occurs twice.
/// Their form: read_ocdbt.
OcdbtTexts ocdbt_texts(std::vector<WrittenEntry> entries, const std::vector<std::string>& files,
                       const std::string& node_file);

}  // namespace ckpt::orbax
