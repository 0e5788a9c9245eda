#include "compare/content_search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "checkpoint/chunk_reader.hpp"
#include "checkpoint/content_sums.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

using What = Damage::What;

/// Up to this many files of wrong content are tried in each other's place: each pair costs another reading.
constexpr std::size_t most_swapped = 8;

/// Searches the files' contents for damage.
class ContentSearch {
 public:
  ContentSearch(const SearchedFiles& files, Communicator& processes, Traffic& traffic)
      : checkpoint_(files.checkpoint),
        placement_(files.placement),
        manifest_(files.manifest),
        stores_(files.stores),
        reader_(files.checkpoint, files.placement, files.stores.reading(), files.most_open),
        processes_(processes),
        traffic_(traffic),
        threads_(files.threads),
        memory_bytes_(files.memory_bytes),
        chunk_bytes_(std::clamp<std::uint64_t>(files.memory_bytes / threads_, 64ULL << 10, 4ULL << 20)),
        own_(files.checkpoint.own_cards(static_cast<std::uint32_t>(processes.rank()),
                                        static_cast<std::uint32_t>(processes.size()))),
        own_files_(files.checkpoint.own_files(static_cast<std::uint32_t>(processes.rank()),
                                              static_cast<std::uint32_t>(processes.size()))) {}

  std::vector<Damage> damages() {
    ContentSums sums(placement_, true);
    agree(processes_, [&] {
      for (const FileNumber file : own_files_) add_the_rest(file, file, sums);
      add_data(own_, sums);
      for (const FileNumber file : own_files_)
        if (!is_as_said(file, sums)) changed_.push_back(file);
    });
    const auto changed = of_all(changed_, processes_);
    const auto copies = damaged_copies(sums);
    const auto swapped = swapped_files(changed);
    std::vector<Damage> damages;
    std::set<std::string> explained;
    for (const FileNumber file : changed) {
      Damage damage{What::content, checkpoint_.file_name(file), "", parameters_of(file, copies)};
      explained.insert(damage.parameters.begin(), damage.parameters.end());
      if (const auto other = swapped.find(file); other != swapped.end())
        damage = {What::swapped, damage.file, checkpoint_.file_name(other->second), {}};
      damages.push_back(std::move(damage));
    }
    Damage rest{What::parameter, "", "", {}};
    for (const auto& copy : copies)
      if (explained.insert(placement_.tensors()[copy.parameter].name).second)
        rest.parameters.push_back(placement_.tensors()[copy.parameter].name);
    if (!rest.parameters.empty()) damages.push_back(std::move(rest));
    return damages;
  }

 private:
  bool is_as_said(FileNumber file, const ContentSums& sums) const {
    const auto said = manifest_.files.find(checkpoint_.file_name(file));
    return said == manifest_.files.end() || to_string(sums.of_file(file)) == said->second.fingerprint;
  }

  /// Adds a file's bytes besides data, its metadata and the values in it, as if it were file `as`.
  void add_the_rest(FileNumber number, FileNumber as, ContentSums& sums) const {
    const FileCatalog& file = checkpoint_.file(number);
    const auto opened = stores_.reading().open(checkpoint_.file_path(number), file);
    sums.add_metadata(as, opened->sum_rest(carried_manifest(*file.schema)));
    const Position card = checkpoint_.table().owner(as);
    for (ArrayId array = 0; array < placement_.arrays().size(); ++array) {
      const ArrayPlace& place = placement_.arrays()[array];
      if (place.verbatim && placement_.holds(card, array) && reader_.where().file(card, array) == as)
        sums.add_verbatim(place.members.front(), card,
                          sum_of_value(file.schema->datasets.at(file.schema->find(reader_.where().name(array)))));
    }
  }

  /// A merged file's manifest, which is not summed. The manifest itself states its place: a file that has something
  /// else there is summed whole, and so found to be damaged.
  std::optional<FileSegment> carried_manifest(const Schema& schema) const {
    if (!manifest_.place) return std::nullopt;
    return FileSegment{*manifest_.place, stores_.named(schema.format).manifest_bytes(schema.manifest)};
  }

  /// Adds all data of some cards' files.
  void add_data(const std::vector<Position>& cards, ContentSums& sums) {
    reader_.read_with_direct_io(memory_bytes_ - std::min(memory_bytes_, threads_ * chunk_bytes_), own_files_);
    const auto read = [&](const Chunk& chunk, std::span<std::byte> bytes) {
      reader_.read(chunk, bytes);
      count(bytes.size());
      return true;
    };
    sum_chunks(ChunkSequence(placement_, cards, chunk_bytes_), threads_, read, sums,
               {[&] { return reader_.can_read_ahead(); },
                [&](const Chunk& chunk, Lease& held) { reader_.read_ahead(chunk, held); }});
    reader_.read_buffered();
  }

  /// Adds a file's data as if it were file `as`.
  void add_data_as(FileNumber file, FileNumber as, ContentSums& sums) {
    const auto read = [&](const Chunk& chunk, std::span<std::byte> bytes) {
      if (reader_.where().file(chunk.card, chunk.array) != as) return false;
      reader_.read(chunk, file, bytes);
      count(bytes.size());
      return true;
    };
    sum_chunks(ChunkSequence(placement_, {checkpoint_.table().owner(as)}, chunk_bytes_), threads_, read, sums);
  }

  void count(std::uint64_t bytes) {
    traffic_.bytes_read += bytes;
    traffic_.bytes_written += bytes;
  }

  /// The copies of parameters whose fingerprints differ from the manifest's. Each process adds up its share of them.
  std::set<ContentSums::Copy> damaged_copies(const ContentSums& sums) {
    const auto size = static_cast<std::size_t>(processes_.size());
    std::vector<std::map<ContentSums::Copy, PartialSum>> to_peer(size);
    for (const auto& [copy, sum] : sums.of_copies()) to_peer[copy.parameter % size].emplace(copy, sum);
    std::map<ContentSums::Copy, PartialSum> whole;
    for (const auto& theirs : exchange_values(std::move(to_peer), processes_))
      for (const auto& [copy, sum] : theirs) whole[copy] += sum;
    std::vector<ContentSums::Copy> mine;
    for (const auto& [copy, sum] : whole) {
      const Tensor& tensor = placement_.tensors()[copy.parameter];
      const auto found = fingerprint(sum, describe_tensor(tensor.name, tensor.dtype.name, tensor.shape));
      if (to_string(found) != manifest_.parameters.at(tensor.name)) mine.push_back(copy);
    }
    return of_all(mine, processes_);
  }

  /// The damaged parameters of which a file holds a part.
  std::vector<std::string> parameters_of(FileNumber file, const std::set<ContentSums::Copy>& damaged) const {
    const Position card = checkpoint_.table().owner(file);
    std::vector<std::string> names;
    for (const auto& [parameter, base] : damaged)
      if (placement_.holds(card, placement_.array_of(parameter)) &&
          reader_.where().file(card, placement_.array_of(parameter)) == file &&
          placement_.base_of(parameter, card) == base &&
          (placement_.tensors()[parameter].verbatim || !placement_.run_of(parameter, card).empty()))
        names.push_back(placement_.tensors()[parameter].name);
    return names;
  }

  /// Maps each file that holds another one's content to that file.
  std::map<FileNumber, FileNumber> swapped_files(const std::set<FileNumber>& changed) {
    std::vector<std::pair<FileNumber, FileNumber>> mine;
    agree(processes_, [&] {
      if (changed.size() > most_swapped) return;
      for (const FileNumber file : own_files_)
        for (const FileNumber other : changed)
          if (file != other && changed.contains(file) &&
              checkpoint_.table().entry(file) == checkpoint_.table().entry(other) &&
              checkpoint_.file(file).schema == checkpoint_.file(other).schema) {
            ContentSums sums(placement_);
            add_the_rest(file, other, sums);
            add_data_as(file, other, sums);
            if (is_as_said(other, sums)) mine.emplace_back(file, other);
          }
    });
    const auto all = of_all(mine, processes_);
    return {all.begin(), all.end()};
  }

  const Checkpoint& checkpoint_;
  const Placement& placement_;
  const Manifest& manifest_;
  Stores& stores_;
  ChunkReader reader_;
  Communicator& processes_;
  Traffic& traffic_;
  unsigned threads_;
  std::uint64_t memory_bytes_;
  std::uint64_t chunk_bytes_;
  std::vector<Position> own_;
  std::vector<FileNumber> own_files_;  // the files of own_
  std::vector<FileNumber> changed_;
};

}  // namespace

std::vector<Damage> search_contents(const SearchedFiles& files, Communicator& processes, Traffic& traffic) {
  return ContentSearch(files, processes, traffic).damages();
}

}  // namespace ckpt
