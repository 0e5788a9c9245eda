#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/lease.hpp"
#include "layout/names/file_table.hpp"
#include "plan/chunk_sequence.hpp"
#include "processes/communicator.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Returns the sums of all processes' values. Collective.
std::vector<PartialSum> added_up(const std::vector<PartialSum>& mine, Communicator& processes);

/// The sums of one chunk.
struct ChunkSums {
  Position card = 0;
  FileNumber in = 0;  ///< which of the card's files
  PartialSum all;  ///< Σ key(parameter) · sum (KeySets::low) over all its regions, to compare with what was read for it
  PartialSum file;                                             ///< this chunk's contribution to its file
  std::vector<std::pair<ParameterId, PartialSum>> parameters;  ///< this chunk's contributions to its parameters
  bool has_clean_padding = true;                               ///< zeros, or the repeats that the layout declares
};

/// Sums a checkpoint's files chunk by chunk: for each parameter every element once, however many cards repeat it, and
/// for each file every byte. Threads may share one.
class ContentSums {
 public:
  /// `every_copy`: also sums each copy of a parameter separately.
  explicit ContentSums(const Placement& placement, bool every_copy = false);

  const NameKey& key(ParameterId parameter) const noexcept { return keys_[parameter]; }

  /// Sums a chunk, divided into the placement's regions.
  ChunkSums of(const Chunk& chunk, std::span<const std::byte> bytes) const;
  void add(const ChunkSums& chunk);
  /// The sum of the value (`sum_of_value`) of a parameter that has no fixed-size elements, on a card that holds it.
  void add_verbatim(ParameterId parameter, Position card, const PartialSum& sum);
  /// Adds the sum of a file's bytes outside its data (sum_outside).
  void add_metadata(FileNumber file, const PartialSum& sum);

  /// Sends each file's sum to the process that `owner` names: afterwards `of_file` is right only there. Collective.
  void send_to_owners(const std::function<std::uint32_t(FileNumber)>& owner, Communicator& processes);
  Fingerprint of_file(FileNumber file) const;

  /// Identifies one copy of a parameter: `base` as Placement::base_of.
  struct Copy {
    ParameterId parameter = 0;
    Position base = 0;

    friend bool operator<(const Copy& a, const Copy& b) noexcept {
      return std::tie(a.parameter, a.base) < std::tie(b.parameter, b.base);
    }
  };
  /// What this process's files contribute to each copy; empty without `every_copy`.
  const std::map<Copy, PartialSum>& of_copies() const noexcept { return copies_; }

  /// The fingerprints of all parameters, the same on every process. Collective. Throws io unless all processes' files
  /// together hold each element exactly once.
  std::vector<Fingerprint> of_parameters(Communicator& processes) const;

 private:
  void add_padding(const Chunk& chunk, std::span<const std::byte> bytes, ChunkSums& sums) const;

  const Placement& placement_;
  ArrayFiles where_;
  bool every_copy_;
  std::vector<NameKey> keys_;  // by parameter
  mutable std::mutex mutex_;   // guards the members below
  std::vector<PartialSum> parameters_;
  std::map<FileNumber, PartialSum> files_;
  std::map<Copy, PartialSum> copies_;
};

/// Fills in a chunk's bytes, or returns false to leave the chunk out.
using ReadChunk = std::function<bool(const Chunk&, std::span<std::byte>)>;

/// Sums each of these chunks that `read` supplies; several threads call `read`.
void sum_chunks(ChunkSequence chunks, unsigned threads, const ReadChunk& read, ContentSums& sums);

/// How to read a chunk's data before its turn, as far as there is room for it.
struct PrefetchCallbacks {
  std::function<bool()> has_room;
  std::function<void(const Chunk&, Lease&)> begin;
};

/// As sum_chunks, for chunks whose data is read before their turn.
void sum_chunks(ChunkSequence chunks, unsigned threads, const ReadChunk& read, ContentSums& sums,
                const PrefetchCallbacks& ahead);

}  // namespace ckpt
