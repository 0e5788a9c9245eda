#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt::orbax {

/// The name of the file that describes a database, in its directory.
inline constexpr const char* ocdbt_manifest = "manifest.ocdbt";

/// What manifests and nodes begin with.
inline constexpr std::string_view ocdbt_manifest_magic = "\x0c\xdb\x3a\x2a";
inline constexpr std::string_view ocdbt_node_magic = "\x0c\xdb\x20\xde";

/// The place of a value.
struct Place {
  static constexpr std::uint32_t inlined = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t file = inlined;  ///< an index into KeyValues::files
  std::uint64_t offset = 0;      ///< in that file, or in KeyValues::inlined
  std::uint64_t bytes = 0;
};

/// Names with values, most of which lie in files.
struct KeyValues {
  struct Entry {
    std::string key;
    Place place;
  };
  std::vector<Entry> entries;      ///< ascending by key
  std::vector<std::string> files;  ///< relative to the directory
  std::string inlined;             ///< the values that lie in no file of their own
};

/// Returns the newest version of an OCDBT database, as tensorstore writes it: a manifest, and a B+tree whose nodes and
/// values lie in data files. Reads the manifest and the nodes, and compares their checksums; the values must lie within
/// their files. Throws input for a database that is damaged, incomplete, or of a form that tensorstore does not have.
/// https://google.github.io/tensorstore/kvstore/ocdbt/index.html
KeyValues read_ocdbt(const std::filesystem::path& directory);

/// Returns a value. Throws input if its file is missing or too short.
std::string value_of(const std::filesystem::path& directory, const KeyValues& all, const Place& place);

}  // namespace ckpt::orbax
