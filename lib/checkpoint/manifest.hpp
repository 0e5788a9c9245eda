#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "layout/placement.hpp"
#include "processes/communicator.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// More is neither written nor read: room for some ten million parameters.
inline constexpr std::uint64_t most_manifest_bytes = 2ULL << 30;

struct ManifestFile {
  std::string name;
  std::uint64_t card = 0;
  std::uint64_t bytes = 0;
  std::string fingerprint;  ///< empty: the run did not verify

  static auto fields(auto& self) { return std::tie(self.name, self.card, self.bytes, self.fingerprint); }
};

/// Which of a table's rows were taken.
struct KeptRows {
  std::string where;                   ///< the condition; empty: no own
  std::string as;                      ///< the table whose rows these follow; empty: none
  std::uint64_t of = 0;                ///< all of the source's rows
  std::uint64_t dropped_with_nan = 0;  ///< rows that went, and were compared with NaN
};

/// A checkpoint that a table was put together from.
struct TableLayerFacts {
  std::string path;  ///< below the directory that has them all
  std::uint64_t rows = 0;
  std::uint64_t taken = 0;
};

/// A table as the manifest tells of it: what the sums of its rows by key are does not depend on servers and order.
struct ManifestTable {
  std::string name;
  std::vector<std::string> datasets;              ///< the keys first
  std::vector<std::uint64_t> rows;                ///< on each server
  std::vector<Fingerprint> all;                   ///< of each dataset's rows; none where the run did not verify
  std::vector<std::vector<Fingerprint>> servers;  ///< likewise, on each server
  std::optional<KeptRows> kept = {};              ///< nothing: all were taken
  std::vector<TableLayerFacts> layers = {};       ///< oldest first; empty: it comes from one checkpoint
  std::vector<KeptRows> kept_before = {};         ///< likewise in the jobs that made the sources, each condition once
};

/// Where the fingerprints of what is written stand: a merged file that goes to a pipe has its manifest in front of the
/// data, mostly, and then they are known too late for it. Of data that is only shown nothing is written.
enum class FingerprintPlace { nowhere, manifest, report, views };

/// What a manifest says in their place; nothing where it has them, or the job made none.
std::string_view in_place_of_fingerprints(FingerprintPlace place);

/// Where a merged file holds its manifest. What lies there is no part of the file's fingerprint.
struct ManifestRoom {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// `checkpoint.json` (in a merged file: root attribute ckpt_manifest): what a checkpoint is, as JSON text that is the
/// same for the same checkpoint, sealed. `fingerprints`: of every parameter, or none where it is to have none.
/// `room`: `files` is the one merged file, which holds the text there: spaces fill it up. `place`: where there are
/// none, it says why. `beside`: the small files that are published beside those with data, of no card.
std::string manifest(const Placement& placement, const std::vector<ManifestFile>& files,
                     const std::vector<Fingerprint>& fingerprints, const std::optional<ManifestRoom>& room = {},
                     FingerprintPlace place = FingerprintPlace::manifest, const std::vector<ManifestTable>& tables = {},
                     const std::vector<ManifestFile>& beside = {});

/// That of a directory without parameters: tables in files of text.
std::string manifest(const Layout& layout, const std::vector<ManifestFile>& files,
                     const std::vector<ManifestTable>& tables);

/// A merged file's manifest as long as it will be, before the facts are known.
std::string provisional_manifest(const Placement& placement, FingerprintPlace fingerprints,
                                 const std::vector<ManifestTable>& tables = {});

/// Throws input where the manifest of what is to be written would be larger than `most_bytes`.
void check_manifest_size(const Placement& placement, bool is_single_file, bool with_fingerprints,
                         std::uint64_t most_bytes = most_manifest_bytes);

/// An object's JSON text, whole but for its last `}`, with a checksum of all that is before it as its last member.
std::string sealed(std::string text);
/// Whether a text is, byte for byte, one that `sealed` gave.
bool is_sealed(std::string_view text);

/// The files of all processes, one process's after the other's. Collective; on process 0 alone there are any.
std::vector<ManifestFile> gather_list(const std::vector<ManifestFile>& mine, Communicator& processes);

}  // namespace ckpt
