#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "layout/file_table.hpp"
#include "plan/chunk_sequence.hpp"
#include "processes/communicator.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// The sums of one chunk.
struct ChunkSums {
  Position card = 0;
  FileNumber in = 0;  ///< which of its files
  PartialSum all;  ///< Σ key(parameter) · sum (KeySets::low) over all its regions, to compare with what was read for it
  PartialSum file;                                             ///< what it adds to its file
  std::vector<std::pair<ParameterId, PartialSum>> parameters;  ///< what it adds to its parameters
  bool has_clean_padding = true;                               ///< zeros, or what the layout says is repeated there
};

/// Sums over the files of a checkpoint, chunk by chunk: for each parameter (every element once, however many
/// cards repeat it) and for each file (every byte). Threads may share one.
class ContentSums {
 public:
  /// `every_copy`: also sums each copy of a parameter separately.
  explicit ContentSums(const Placement& placement, bool every_copy = false);

  const NameKey& key(ParameterId parameter) const noexcept { return keys_[parameter]; }

  /// Sums a chunk by the placement's own regions.
  ChunkSums of(const Chunk& chunk, std::span<const std::byte> bytes) const;
  void add(const ChunkSums& chunk);
  /// The value of a parameter that has no fixed-size elements, on a card that holds it.
  void add_verbatim(ParameterId parameter, Position card, const std::string& value);
  /// Adds the sum of a file's bytes outside its data (sum_outside).
  void add_metadata(FileNumber file, const PartialSum& sum);

  /// Gives what was added of a file to the process that `owner` names: only there `of_file` is then right. Collective.
  void give_to_owners(const std::function<std::uint32_t(FileNumber)>& owner, Communicator& processes);
  Fingerprint of_file(FileNumber file) const;

  /// One copy of a parameter, by its name (Placement::base_of).
  struct Copy {
    ParameterId parameter = 0;
    Position base = 0;

    static auto fields(auto& self) { return std::tie(self.parameter, self.base); }
    friend bool operator<(const Copy& a, const Copy& b) noexcept {
      return std::tie(a.parameter, a.base) < std::tie(b.parameter, b.base);
    }
  };
  /// What this process's files add to each copy; none without `every_copy`.
  const std::map<Copy, PartialSum>& of_copies() const noexcept { return copies_; }

  /// The fingerprints of all parameters, the same on every process. Collective. Throws io where the files of all
  /// processes together do not hold each element once.
  std::vector<Fingerprint> of_parameters(Communicator& processes) const;

 private:
  void add_padding(const Chunk& chunk, std::span<const std::byte> bytes, ChunkSums& sums) const;

  const Placement& placement_;
  ArrayFiles where_;
  bool every_copy_;
  std::vector<NameKey> keys_;  // by parameter
  mutable std::mutex mutex_;   // for what follows
  std::vector<PartialSum> parameters_;
  std::map<FileNumber, PartialSum> files_;
  std::map<Copy, PartialSum> copies_;
};

/// Fills in a chunk's bytes; or gives false, and the chunk is left out.
using ReadChunk = std::function<bool(const Chunk&, std::span<std::byte>)>;

/// Sums all of these chunks that `read` gives. Several threads call it.
void sum_chunks(ChunkSequence chunks, unsigned threads, const ReadChunk& read, ContentSums& sums);

}  // namespace ckpt
