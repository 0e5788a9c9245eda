#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/placement/placement.hpp"
#include "processes/communicator.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// A larger manifest is neither written nor read: this is room for some ten million parameters.
inline constexpr std::uint64_t most_manifest_bytes = 2ULL << 30;

struct ManifestFile {
  std::string name;
  std::uint64_t card = 0;
  std::uint64_t bytes = 0;
  std::string fingerprint;  ///< empty: the run did not verify
};

/// Which of a table's rows were taken.
struct KeptRows {
  std::string where;                   ///< the table's own condition; may be empty
  std::string as;                      ///< the table that decides which rows are kept; empty: none
  std::uint64_t of = 0;                ///< how many rows the source has
  std::uint64_t dropped_with_nan = 0;  ///< rows that were dropped because the condition compared them with NaN
};

/// A checkpoint that contributed to a table.
struct TableLayerFacts {
  std::string path;  ///< below the directory that has all layers
  std::uint64_t rows = 0;
  std::uint64_t taken = 0;
};

/// A table in the manifest. The sums of its rows by key do not depend on servers and order.
struct ManifestTable {
  std::string name;
  std::vector<std::string> datasets;              ///< the keys first
  std::vector<std::uint64_t> rows;                ///< on each server
  std::vector<Fingerprint> all;                   ///< by dataset: of all rows; empty if the run did not verify
  std::vector<std::vector<Fingerprint>> servers;  ///< by server, as `all`
  std::optional<KeptRows> kept = {};              ///< absent: all were taken
  std::vector<TableLayerFacts> layers = {};       ///< oldest first; empty: it comes from one checkpoint
  std::vector<KeptRows> kept_before = {};         ///< in the jobs that made the sources, each condition once
};

/// The record that holds the fingerprints of the written data. A merged file in a pipe usually has its manifest before
/// the data, when they are unknown. A view (`--virtual`) writes no data.
enum class FingerprintPlace { nowhere, manifest, report, views };

/// The manifest's text in place of fingerprints; empty if it has them, or the job made none.
std::string_view in_place_of_fingerprints(FingerprintPlace place);

/// How a checkpoint was made of another one, as JSON; empty where it does not apply.
struct ManifestHistory {
  std::string merged_by = {};  ///< of a merged checkpoint: the layout whose rules cut its parameters before
  std::string names = {};      ///< the map of names, its sizes, and the parameters that it recomputed
};

/// The bytes of a merged file that hold its manifest. The file's fingerprint leaves them out.
struct ManifestRoom {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The text of `checkpoint.json` (in a merged file: of the root attribute ckpt_manifest), which describes a checkpoint:
/// sealed JSON, the same for the same checkpoint. `fingerprints`: one for every parameter, or empty to leave them
/// out; `place` then says why. `room`: `files` is the one merged file, which holds the text there, filled up
/// with spaces. `sidecars`: the small files of no card that are published beside the data files.
std::string manifest(const Placement& placement, const std::vector<ManifestFile>& files,
                     const std::vector<Fingerprint>& fingerprints, const std::optional<ManifestRoom>& room = {},
                     FingerprintPlace place = FingerprintPlace::manifest, const std::vector<ManifestTable>& tables = {},
                     const std::vector<ManifestFile>& sidecars = {}, const ManifestHistory& history = {});

/// The manifest of a directory without parameters, whose tables are in text files.
std::string manifest(const Layout& layout, const std::vector<ManifestFile>& files,
                     const std::vector<ManifestTable>& tables);

/// A merged file's manifest with its final length, before the facts are known.
std::string provisional_manifest(const Placement& placement, FingerprintPlace fingerprints,
                                 const std::vector<ManifestTable>& tables = {}, const ManifestHistory& history = {});

/// Throws input if the manifest of the planned output would be larger than `most_bytes`.
void check_manifest_size(const Placement& placement, bool is_single_file, bool with_fingerprints,
                         std::uint64_t most_bytes = most_manifest_bytes);

/// Seals an object's JSON text, given without its last `}`: adds a checksum of all text before it as the last member.
std::string sealed(std::string text);
/// Whether `sealed` produced this text, byte for byte.
bool is_sealed(std::string_view text);

/// The files of all processes in rank order, on process 0; empty elsewhere. Collective.
std::vector<ManifestFile> gather_list(const std::vector<ManifestFile>& mine, Communicator& processes);

}  // namespace ckpt
