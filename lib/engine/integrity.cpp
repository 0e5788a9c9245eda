#include "engine/integrity.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "engine/checkpoint.hpp"
#include "engine/chunk_reader.hpp"
#include "engine/content_sums.hpp"
#include "engine/memory_shares.hpp"
#include "engine/parallel.hpp"
#include "engine/read_manifest.hpp"
#include "layout/resolve.hpp"
#include "store/outside_data.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

namespace {

using What = Damage::What;

/// So many files of wrong content are tried in one another's place: each pair is read once more.
constexpr std::size_t most_swapped = 8;

/// What all processes have found, as one list without repetition; each process's own is `mine`.
template <class Value>
std::set<Value> of_all(const std::vector<Value>& mine, Communicator& processes) {
  std::set<Value> all;
  for (const std::string& text :
       processes.all_gather(nlohmann::json(mine).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)))
    for (const auto& value : nlohmann::json::parse(text)) all.insert(value.get<Value>());
  return all;
}

/// The search before any file is opened, over what all processes see.
class FileSearch {
 public:
  FileSearch(const std::filesystem::path& directory, const Manifest& manifest, Communicator& processes)
      : directory_(directory), manifest_(manifest), processes_(processes) {}

  std::vector<Damage> damages() {
    std::vector<std::pair<std::string, std::uint64_t>> here;
    agree(processes_, [&] { here = seen(); });
    std::vector<Damage> damages;
    std::set<std::string> found;
    for (const auto& [name, bytes] : of_all(here, processes_)) {
      const auto expected = manifest_.files.find(name);
      if (expected == manifest_.files.end())
        damages.push_back({What::surplus, name, "the manifest does not name it", {}});
      else if (bytes != expected->second.bytes)
        damages.push_back({What::size, name, sizes(bytes, expected->second.bytes), {}});
      found.insert(name);
    }
    for (const auto& [name, file] : manifest_.files)
      if (!found.contains(name)) damages.push_back({What::missing, name, "", {}});
    return damages;
  }

 private:
  static std::string sizes(std::uint64_t found, std::uint64_t expected) {
    return std::to_string(found) + " bytes, expected " + std::to_string(expected);
  }

  /// The files of the manifest's kind that this process sees, and their sizes.
  std::vector<std::pair<std::string, std::uint64_t>> seen() const {
    std::set<std::string> kinds;
    for (const auto& [name, file] : manifest_.files) kinds.insert(std::filesystem::path(name).extension());
    std::vector<std::pair<std::string, std::uint64_t>> seen;
    std::error_code error;
    std::filesystem::recursive_directory_iterator entry(directory_, error);
    for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error))
      if (kinds.contains(entry->path().extension()) && entry->is_regular_file())
        seen.emplace_back(entry->path().lexically_relative(directory_).string(), entry->file_size());
    if (error && error != std::errc::no_such_file_or_directory)
      throw system_error(directory_.string(), "list", error.value());
    return seen;
  }

  const std::filesystem::path& directory_;
  const Manifest& manifest_;
  Communicator& processes_;
};

/// The search in the files' contents.
class ContentSearch {
 public:
  ContentSearch(const Job& job, const Checkpoint& checkpoint, const Placement& placement, const Manifest& manifest,
                Store& store, Communicator& processes, Counters& counters, std::uint64_t memory_bytes)
      : checkpoint_(checkpoint),
        placement_(placement),
        manifest_(manifest),
        reader_(checkpoint, placement, store),
        processes_(processes),
        counters_(counters),
        threads_(thread_count(job, processes)),
        chunk_bytes_(std::clamp<std::uint64_t>(memory_bytes / threads_, 64ULL << 10, 4ULL << 20)),
        own_(checkpoint.own_cards(static_cast<std::uint32_t>(processes.rank()),
                                  static_cast<std::uint32_t>(processes.size()))) {}

  std::vector<Damage> damages() {
    ContentSums sums(placement_, true);
    agree(processes_, [&] {
      for (const Position card : own_) add_the_rest(card, card, sums);
      add_data(own_, std::nullopt, sums);
      for (const Position card : own_)
        if (!is_as_said(card, sums)) changed_.push_back(card);
    });
    const auto changed = of_all(changed_, processes_);
    const auto copies = damaged_copies(sums);
    const auto swapped = swapped_files(changed);
    std::vector<Damage> damages;
    std::set<std::string> explained;
    for (const Position card : changed) {
      Damage damage{What::content, checkpoint_.file_name(card), "", parameters_of(card, copies)};
      explained.insert(damage.parameters.begin(), damage.parameters.end());
      if (const auto other = swapped.find(card); other != swapped.end())
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
  bool is_as_said(Position card, const ContentSums& sums) const {
    const auto said = manifest_.files.find(checkpoint_.file_name(card));
    return said == manifest_.files.end() || to_string(sums.of_file(card)) == said->second.fingerprint;
  }

  /// What a card's file holds besides data: metadata, and values that lie in it. As if it were the file of card `as`.
  void add_the_rest(Position card, Position as, ContentSums& sums) const {
    const FileCatalog& file = checkpoint_.file(card);
    std::vector<Interval> data;
    for (std::size_t i = 0; i < file.schema->datasets.size(); ++i) {
      const StoredArray& array = (*file.schema->arrays)[i];
      const std::uint64_t start = file.schema->datasets[i].offset;
      if (file.schema->datasets[i].storage == Storage::contiguous)
        data.push_back({start, start + volume(array.shape) * array.dtype.size});
    }
    const auto opened = PosixFile::open_for_reading(checkpoint_.file_path(card));
    sums.add_metadata(as, sum_outside(opened, file.bytes, std::move(data)));
    for (ArrayId array = 0; array < placement_.arrays().size(); ++array) {
      const ArrayPlace& place = placement_.arrays()[array];
      if (place.verbatim && placement_.holds(as, array))
        sums.add_verbatim(place.members.front(), as,
                          file.schema->datasets.at(file.schema->find(place.name)).verbatim_value);
    }
  }

  /// All data of some cards' files, or of one in the place of another card's.
  void add_data(const std::vector<Position>& cards, std::optional<Position> in_place, ContentSums& sums) {
    sum_files(
        placement_, cards, chunk_bytes_, threads_,
        [&](const Chunk& chunk, std::span<std::byte> bytes) {
          reader_.read(chunk, in_place.value_or(chunk.card), bytes);
          counters_.bytes_read += bytes.size();
          counters_.bytes_written += bytes.size();
        },
        sums);
  }

  /// The copies of parameters whose fingerprints are not the manifest's. Each process adds up its share of them.
  std::set<ContentSums::Copy> damaged_copies(const ContentSums& sums) {
    const auto size = static_cast<std::size_t>(processes_.size());
    std::vector<nlohmann::json> to_peer(size, nlohmann::json::array());
    for (const auto& [copy, sum] : sums.of_copies())
      to_peer[copy.parameter % size].push_back({copy.parameter, copy.base, sum.low, sum.high, sum.bytes});
    std::vector<std::string> texts;
    texts.reserve(size);
    for (const auto& json : to_peer) texts.push_back(json.dump());
    std::map<ContentSums::Copy, PartialSum> whole;
    for (const std::string& text : processes_.all_to_all(std::move(texts)))
      for (const auto& each : nlohmann::json::parse(text)) whole[{each[0], each[1]}] += {each[2], each[3], each[4]};
    std::vector<std::pair<ParameterId, Position>> mine;
    for (const auto& [copy, sum] : whole) {
      const Tensor& tensor = placement_.tensors()[copy.parameter];
      const auto found = fingerprint(sum, describe_tensor(tensor.name, tensor.dtype.name, tensor.shape));
      if (to_string(found) != manifest_.parameters.at(tensor.name).fingerprint)
        mine.emplace_back(copy.parameter, copy.base);
    }
    std::set<ContentSums::Copy> damaged;
    for (const auto& [parameter, base] : of_all(mine, processes_)) damaged.insert({parameter, base});
    return damaged;
  }

  /// The damaged parameters of which a card holds a part.
  std::vector<std::string> parameters_of(Position card, const std::set<ContentSums::Copy>& damaged) const {
    std::vector<std::string> names;
    for (const auto& [parameter, base] : damaged)
      if (placement_.holds(card, placement_.array_of(parameter)) && placement_.base_of(parameter, card) == base &&
          (placement_.tensors()[parameter].verbatim || !placement_.run_of(parameter, card).empty()))
        names.push_back(placement_.tensors()[parameter].name);
    return names;
  }

  /// The cards whose files hold what another's should.
  std::map<Position, Position> swapped_files(const std::set<Position>& changed) {
    std::vector<std::pair<Position, Position>> mine;
    agree(processes_, [&] {
      if (changed.size() > most_swapped) return;
      for (const Position card : own_)
        for (const Position other : changed)
          if (card != other && changed.contains(card) &&
              checkpoint_.file(card).schema == checkpoint_.file(other).schema) {
            ContentSums sums(placement_);
            add_the_rest(card, other, sums);
            add_data({other}, card, sums);
            if (is_as_said(other, sums)) mine.emplace_back(card, other);
          }
    });
    const auto all = of_all(mine, processes_);
    return {all.begin(), all.end()};
  }

  const Checkpoint& checkpoint_;
  const Placement& placement_;
  const Manifest& manifest_;
  ChunkReader reader_;
  Communicator& processes_;
  Counters& counters_;
  unsigned threads_;
  std::uint64_t chunk_bytes_;
  std::vector<Position> own_;
  std::vector<Position> changed_;
};

/// Whether the parameters that the files hold are those of the manifest.
std::vector<Damage> compare_names(const Placement& placement, const Manifest& manifest) {
  Damage surplus{What::parameter, "", "the manifest does not name them", {}};
  Damage missing{What::parameter, "", "no file holds them", {}};
  for (const Tensor& tensor : placement.tensors())
    if (!manifest.parameters.contains(tensor.name)) surplus.parameters.push_back(tensor.name);
  for (const auto& [name, parameter] : manifest.parameters)
    if (!placement.find(name)) missing.parameters.push_back(name);
  std::vector<Damage> damages{std::move(surplus), std::move(missing)};
  std::erase_if(damages, [](const Damage& damage) { return damage.parameters.empty(); });
  return damages;
}

/// Files of another run carry another layout.
std::vector<Damage> compare_layouts(const Checkpoint& checkpoint, const Manifest& manifest) {
  std::map<const Schema*, bool> is_same;
  std::vector<Damage> damages;
  for (Position card = 0; card < checkpoint.files().size(); ++card) {
    const Schema* schema = checkpoint.file(card).schema.get();
    const auto [known, is_new] = is_same.try_emplace(schema);
    if (is_new) known->second = nlohmann::json::parse(schema->layout, nullptr, false) == manifest.layout_json;
    if (!known->second) damages.push_back({What::layout, checkpoint.file_name(card), "", {}});
  }
  return damages;
}

/// The files, open, and what the layout makes of them.
struct Opened {
  Checkpoint checkpoint;
  Resolved resolved;
};

Opened open(const Job& job, const Manifest& manifest, Store& store, Communicator& processes) {
  Opened opened{Checkpoint::open(job.source, job.source_layout ? job.source_layout : manifest.layout, store, processes),
                {}};
  agree(processes, [&] { opened.resolved = resolve_source(opened.checkpoint.layout(), opened.checkpoint.holdings()); });
  return opened;
}

}  // namespace

Integrity check_integrity(const Job& job, Communicator& processes, Counters& counters) {
  const auto store = hdf5_store();
  const Manifest manifest = read_manifest(job.source, *store, processes);
  Integrity result{std::max<std::uint64_t>(manifest.files.size(), 1), manifest.parameters.size(), 0, {}};
  const auto add = [&](std::vector<Damage> damages) {
    result.damages.insert(result.damages.end(), damages.begin(), damages.end());
  };
  if (!manifest.files.empty()) add(FileSearch(job.source, manifest, processes).damages());
  const auto hides_data = [](const Damage& damage) { return damage.what != What::surplus; };
  if (std::any_of(result.damages.begin(), result.damages.end(), hides_data)) return result;

  std::optional<Opened> opened;
  try {
    opened = open(job, manifest, *store, processes);
  } catch (const Error& error) {
    if (error.kind() != Kind::input || !processes.failed_together()) throw;
    processes.set_failed_together(false);
    add({{What::unreadable, "", error.what(), {}}});
    return result;
  }
  const Placement& placement = opened->resolved.placement;
  add(compare_layouts(opened->checkpoint, manifest));
  if (auto damages = compare_names(placement, manifest); !damages.empty()) {
    add(std::move(damages));
    return result;
  }
  for (const FileCatalog& file : opened->checkpoint.files()) result.bytes += file.bytes;
  counters.phase = Phase::compare;
  counters.bytes_total = result.bytes / static_cast<std::uint64_t>(processes.size());
  MemoryShares shares;
  agree(processes, [&] { shares = share_memory(job.memory_bytes, 2, largest_chunk(opened->checkpoint, placement)); });
  store->set_decoding_memory(shares.chunks);
  const std::uint64_t memory_bytes = shares.windows + shares.rest;  // nothing is mapped
  add(ContentSearch(job, opened->checkpoint, placement, manifest, *store, processes, counters, memory_bytes).damages());
  warn_of_repeats(job, store->decoding(), processes);
  counters.phase = Phase::done;
  return result;
}

}  // namespace ckpt
