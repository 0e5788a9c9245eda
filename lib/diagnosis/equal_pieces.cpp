#include "diagnosis/equal_pieces.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compare/parallel_reads.hpp"
#include "compare/replica_digests.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// The data under one name in several cards' files that by the layout differs from card to card: the shards of one
/// parameter, or parameters that `indices` counts with local numbers.
struct Pieces {
  std::vector<ParameterId> parameters;  ///< ascending
  std::vector<SplitAxis> over;          ///< axes of more than one card
};

/// A card of a first copy, and the parameter of which it holds a piece.
struct PieceHolder {
  Position card = 0;
  ParameterId parameter = 0;
};

/// Whether sampling a parameter costs decoding much more data.
bool is_costly(const ReplicatedFiles& files, ParameterId parameter) {
  if (files.extent == ReplicaCheck::full) return false;
  const Placement& placement = files.placement;
  const std::string& stored = placement.arrays()[placement.array_of(parameter)].name;
  const Dataset* dataset = files.checkpoint.find(placement.first_base(parameter), stored);
  return dataset != nullptr && dataset->chunk_bytes > compared_block_bytes;
}

bool is_searched(const ReplicatedFiles& files, ParameterId parameter) {
  const Sharding& spread = files.placement.shardings()[parameter];
  return files.is_taken[parameter] && !spread.bucket && !spread.boxes &&
         !files.placement.tensors()[parameter].verbatim && !is_costly(files, parameter);
}

/// The axes over which these are split, and counted if there are several; no number of a global count is in two cards'
/// files.
std::vector<SplitAxis> split_axes(const Placement& placement, const std::vector<ParameterId>& parameters) {
  std::set<SplitAxis> over;
  const auto add = [&](const std::vector<Axis>& axes, std::optional<std::uint64_t> entry) {
    for (const Axis axis : axes)
      if (placement.mesh().shape[axis] > 1) over.insert({axis, entry});
  };
  for (const auto& of_dim : placement.shardings()[parameters.front()].axes) add(of_dim, {});
  const auto& entries = placement.layout().indices;
  for (std::uint64_t entry = 0; parameters.size() > 1 && entry < entries.size(); ++entry)
    if (entries[entry].numbering == Numbering::local &&
        entries[entry].in.matches(placement.tensors()[parameters.front()].name))
      add(entries[entry].axes, entry);
  return {over.begin(), over.end()};
}

/// The pieces of a checkpoint's chosen parameters, in the same order on every process. Leaves out buckets and explicit
/// boxes, whose sizes the layout states, and data that must be decoded in large chunks, unless everything is read
/// anyway.
std::vector<Pieces> pieces_of(const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  std::map<std::string_view, std::vector<ParameterId>> by_name;
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter)
    if (is_searched(files, parameter))
      by_name[placement.arrays()[placement.array_of(parameter)].name].push_back(parameter);
  std::vector<Pieces> all;
  for (auto& [name, parameters] : by_name)
    if (auto over = split_axes(placement, parameters); !over.empty())
      all.push_back({std::move(parameters), std::move(over)});
  return all;
}

/// All cards that hold a piece, ascending.
std::vector<PieceHolder> holders_of(const Placement& placement, const Pieces& pieces) {
  std::vector<PieceHolder> holders;
  for (const ParameterId parameter : pieces.parameters)
    placement.for_each_first(parameter, [&](Position card) { holders.push_back({card, parameter}); });
  std::sort(holders.begin(), holders.end(), [](const PieceHolder& a, const PieceHolder& b) { return a.card < b.card; });
  return holders;
}

constexpr std::uint64_t probe_bytes = 4ULL << 10;
constexpr std::uint32_t telling_values = 4;

/// How much of a piece is read: one block, or as much as for a comparison of replicas.
enum class Portion { probe, samples, all };

/// A digest of the bytes that were read of a card's piece.
struct PieceDigest {
  std::uint64_t pieces = 0;  ///< index of the Pieces
  Position card = 0;
  PartialSum sum;
  std::uint32_t values = 0;  ///< how many different ones are in one run, at most telling_values
};

std::uint32_t count_values(std::span<const std::byte> bytes, std::uint64_t element) {
  if (std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0) return 1;
  std::array<const std::byte*, telling_values> known{};
  std::uint32_t count = 0;
  for (std::size_t at = 0; at < bytes.size() && count < telling_values; at += element) {
    const auto is_it = [&](const std::byte* value) { return std::memcmp(value, bytes.data() + at, element) == 0; };
    if (std::none_of(known.begin(), known.begin() + count, is_it)) known[count++] = bytes.data() + at;
  }
  return count;
}

/// The result of one look at some pieces.
struct PieceVerdict {
  std::vector<std::uint64_t> suspects;  ///< indices of Pieces of which some cards agree
  PieceFindings found;
};

class PieceSearch {
 public:
  PieceSearch(const ReplicatedFiles& files, Communicator& processes)
      : files_(files),
        placement_(files.placement),
        mesh_(files.placement.mesh()),
        processes_(processes),
        reader_(files),
        all_(pieces_of(files)) {}

  PieceFindings run() {
    std::vector<std::uint64_t> every(all_.size());
    std::iota(every.begin(), every.end(), std::uint64_t{0});
    PieceVerdict probed = judged(every, Portion::probe);
    PieceVerdict sure = judged(probed.suspects, files_.extent == ReplicaCheck::full ? Portion::all : Portion::samples);
    sure.found.distinct.merge(probed.found.distinct);
    return std::move(sure.found);
  }

 private:
  struct Reading {
    std::uint64_t pieces = 0;
    PieceHolder holder;
  };
  using ByCard = std::map<Position, PieceDigest>;

  /// The cards whose pieces are read: all, or for a probe the first one and those that may hold its copies.
  std::vector<PieceHolder> holders(const Pieces& pieces, Portion portion) const {
    std::vector<PieceHolder> all = holders_of(placement_, pieces);
    if (portion != Portion::probe || all.empty()) return all;
    std::set<Position> cards{all.front().card};
    for (const SplitAxis& over : pieces.over)
      for (const std::uint64_t stride : possible_strides(mesh_.shape[over.axis]))
        cards.insert(all.front().card + stride * mesh_.stride(over.axis));
    std::erase_if(all, [&](const PieceHolder& holder) { return !cards.contains(holder.card); });
    return all;
  }

  std::vector<PieceDigest> digests(const std::vector<std::uint64_t>& numbers, Portion portion) {
    const auto size = static_cast<std::uint32_t>(processes_.size());
    const auto rank = static_cast<std::uint32_t>(processes_.rank());
    std::vector<Reading> mine;
    for (const std::uint64_t number : numbers)
      for (const PieceHolder& holder : holders(all_[number], portion))
        if (files_.process_of(holder.card, size) == rank) mine.push_back({number, holder});
    auto read = read_each(
        mine, files_.threads,
        [&](const Reading& each) {
          return reader_.will_need(each.holder.parameter, each.holder.card, runs_of(each, portion));
        },
        [&](const Reading& each) { return digest(each, portion); });
    std::erase_if(read, [](const PieceDigest& digest) { return digest.sum.bytes == 0; });
    return read;
  }

  /// The runs that are read of a piece; empty if the card stores nothing.
  std::vector<Interval> runs_of(const Reading& what, Portion portion) const {
    const auto& [card, parameter] = what.holder;
    if (!files_.reader.dataset(card, placement_.array_of(parameter))) return {};
    const bool is_probe = portion == Portion::probe;
    auto runs =
        compared_runs(placement_, parameter, card, portion == Portion::all, placement_.tensors()[parameter].dtype.size,
                      is_probe ? probe_bytes : compared_block_bytes);
    if (is_probe && !runs.empty()) runs = {runs[runs.size() / 2]};
    return runs;
  }

  /// The digest of a piece; of no bytes if the card stores nothing.
  PieceDigest digest(const Reading& what, Portion portion) {
    const auto& [card, parameter] = what.holder;
    PieceDigest digest{what.pieces, card, {}, 0};
    const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
    for (const Interval& run : runs_of(what, portion)) {
      const auto bytes = reader_.stored(parameter, card, run);
      digest.sum += sum_of(bytes, run.lo * element);
      digest.values = std::max(digest.values, count_values(bytes, element));
    }
    return digest;
  }

  /// Brings everything known about the same pieces to one process, and judges it there.
  PieceVerdict judged(const std::vector<std::uint64_t>& numbers, Portion portion) {
    const auto size = static_cast<std::uint64_t>(processes_.size());
    std::vector<std::vector<PieceDigest>> to_peer(size);
    agree(processes_, [&] {
      for (const PieceDigest& digest : digests(numbers, portion)) to_peer[digest.pieces % size].push_back(digest);
    });
    std::map<std::uint64_t, ByCard> read;
    for (const auto& theirs : exchange_values(std::move(to_peer), processes_))
      for (const PieceDigest& digest : theirs) read[digest.pieces].emplace(digest.card, digest);
    PieceVerdict mine;
    for (const auto& [number, by_card] : read) {
      if (portion == Portion::probe)
        judge_probe(number, by_card, mine);
      else
        judge(number, by_card, mine);
    }
    return together(mine);
  }

  void judge_probe(std::uint64_t number, const ByCard& read, PieceVerdict& mine) const {
    const auto& [base, first] = *read.begin();
    bool is_suspect = false;
    for (const SplitAxis& over : all_[number].over) {
      std::uint64_t found = 0;
      std::uint64_t alike = 0;
      for (const std::uint64_t stride : possible_strides(mesh_.shape[over.axis])) {
        const auto other = read.find(base + stride * mesh_.stride(over.axis));
        if (other == read.end()) continue;
        ++found;
        alike += other->second.sum == first.sum ? 1 : 0;
      }
      is_suspect = is_suspect || alike != 0;
      if (alike == 0 && found != 0) mine.found.distinct.emplace(over, all_[number].parameters.front());
    }
    if (is_suspect) mine.suspects.push_back(number);
  }

  void judge(std::uint64_t number, const ByCard& read, PieceVerdict& mine) const {
    std::vector<Position> cards;
    bool is_telling = false;
    for (const auto& [card, digest] : read) {
      cards.push_back(card);
      is_telling = is_telling || digest.values >= telling_values;
    }
    const auto hold_same = [&](Position a, Position b) { return read.at(a).sum == read.at(b).sum; };
    for (const SplitAxis& over : all_[number].over) {
      const auto copies = copies_along(mesh_, over.axis, cards, hold_same);
      if (!copies)
        mine.found.distinct.emplace(over, all_[number].parameters.front());
      else if (is_telling)
        mine.found.equal.push_back({number, all_[number].parameters, over, *copies});
    }
  }

  PieceVerdict together(const PieceVerdict& mine) {
    PieceVerdict all;
    for (PieceVerdict& theirs : gather_all(mine, processes_)) {
      all.suspects.insert(all.suspects.end(), theirs.suspects.begin(), theirs.suspects.end());
      all.found.equal.insert(all.found.equal.end(), theirs.found.equal.begin(), theirs.found.equal.end());
      all.found.distinct.merge(theirs.found.distinct);
    }
    std::sort(all.suspects.begin(), all.suspects.end());
    std::stable_sort(all.found.equal.begin(), all.found.equal.end(),
                     [](const EqualPieces& a, const EqualPieces& b) { return a.number < b.number; });
    return all;
  }

  const ReplicatedFiles& files_;
  const Placement& placement_;
  const Mesh& mesh_;
  Communicator& processes_;
  ReplicaReader reader_;
  std::vector<Pieces> all_;
};

}  // namespace

PieceFindings find_equal_pieces(const ReplicatedFiles& files, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return {};
  return PieceSearch(files, processes).run();
}

}  // namespace ckpt
