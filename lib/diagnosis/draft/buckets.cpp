#include "diagnosis/draft/buckets.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "diagnosis/draft/cut_candidates.hpp"
#include "diagnosis/draft/facts.hpp"
#include "diagnosis/draft/flat_buffer.hpp"
#include "diagnosis/draft/search.hpp"
#include "layout/language/layout.hpp"
#include "layout/placement/placement.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt::drafting {

namespace {

/// The largest alignment of members that is tried, in elements.
constexpr std::uint64_t largest_align = 256;

/// A bucket's member, and where it was found.
struct LocatedMember {
  std::string name;
  std::uint64_t offset = 0;  ///< elements, in the buffer of the cards with coordinate 0 on the axes that cut
  std::uint64_t room = 0;    ///< elements to the next member, or to the buffer's end
};

constexpr std::uint64_t largest_padding = 1 << 16;
constexpr std::uint64_t longest_tail = 1 << 20;

Position first_card_with_any(const Placement& placement) {
  Position card = 0;
  while (!placement.holds(card, 0)) ++card;
  return card;
}

/// Tries buckets for one stored name: the library's interpretation of them must be what the cards store. It refers to
/// mesh and facts.
class BucketTrial {
 public:
  BucketTrial(const Mesh& mesh, const NameFacts& facts) : mesh_(mesh), facts_(facts) {}

  /// Whether the bucket, as the library resolves it, has the lengths of the pieces with this stored name.
  bool has_length_of(const Bucket& bucket) const {
    try {
      resolved(bucket, card_arrays_of(bucket));
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  /// Gives the bucket the least alignment and padding that put its members where they were found; false if none does.
  bool pad(Bucket& bucket, const std::vector<LocatedMember>& members, const FlatBuffer& buffer) const {
    const std::vector<CardArrays> card_arrays = card_arrays_of(bucket);
    const auto is_right = [&] {
      try {
        return fits(resolved(bucket, card_arrays), bucket, members, buffer);
      } catch (const Error& refused) {
        if (refused.kind() == Kind::io) throw;
        return false;  // pieces of other lengths
      }
    };
    for (bucket.align = 1; bucket.align <= largest_align; bucket.align *= 2)
      for (bucket.multiple_of = 1; bucket.multiple_of <= largest_padding; bucket.multiple_of *= 2)
        for (bucket.multiple_of_each = 1; bucket.multiple_of_each <= 2; ++bucket.multiple_of_each)
          if (is_right()) return true;
    return false;
  }

 private:
  /// The stored name alone, on the bucket's cards.
  std::vector<CardArrays> card_arrays_of(const Bucket& bucket) const {
    std::vector<CardArrays> card_arrays;
    for (Position card = 0; card < mesh_.size(); ++card) {
      std::vector<StoredArray> held;
      const bool is_here = !bucket.at || std::all_of(bucket.at->begin(), bucket.at->end(), [&](const auto& entry) {
        return mesh_.coordinate(card, entry.first) == entry.second.front();
      });
      if (is_here && facts_.pieces[card].array != nullptr) held.push_back(*facts_.pieces[card].array);
      if (!held.empty()) held.front().name = bucket.name;
      card_arrays.push_back(std::make_shared<const std::vector<StoredArray>>(std::move(held)));
    }
    return card_arrays;
  }

  Placement resolved(const Bucket& bucket, const std::vector<CardArrays>& card_arrays) const {
    Layout layout;
    layout.mesh = mesh_;
    layout.buckets = {bucket};
    return resolve_source(layout, card_arrays).placement;
  }

  /// Whether the library puts the members where they were found, with nothing but padding behind them.
  bool fits(const Placement& placement, const Bucket& bucket, const std::vector<LocatedMember>& members,
            const FlatBuffer& buffer) const {
    const Position first = first_card_with_any(placement);
    const std::uint64_t each = placement.stored_shape(0, first)[0];
    const Placement::BucketSizes sizes = placement.bucket_sizes(0, first);
    if (!is_padding(buffer, {sizes.end, sizes.is_flat ? buffer.starts()[1] : buffer.size()})) return false;
    return std::all_of(members.begin(), members.end(), [&](const LocatedMember& member) {
      const ParameterId parameter = *placement.find(member.name);
      bool is_there = false;
      const Shape origin(placement.tensors()[parameter].shape.size(), 0);
      placement.for_each_shard(parameter, {origin, Shape(origin.size(), 1)}, [&](Position card, const Region& region) {
        is_there = mesh_.coordinate(card, bucket.axis) * each + region.offset == member.offset;
      });
      return is_there;
    });
  }

  /// Whether elements at the end may be padding: all have one value. Anything else may be a member that was not found.
  bool is_padding(const FlatBuffer& buffer, Interval elements) const {
    if (elements.empty()) return true;
    if (elements.size() > longest_tail) return false;
    const std::uint64_t element = first_array(facts_.pieces).dtype.size;
    std::string bytes(elements.size() * element, '\0');
    buffer.read(elements, std::as_writable_bytes(std::span(bytes)));
    return std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(element), bytes.end(), bytes.begin());
  }

  const Mesh& mesh_;
  const NameFacts& facts_;
};

constexpr std::uint64_t sampled_elements = 64;

/// A part of a flat buffer as an array of its own, on each card of a mesh without the buffer's axis.
class MemberData final : public CardData {
 public:
  MemberData(const std::vector<FlatBuffer>& buffers, std::uint64_t offset) : buffers_(buffers), offset_(offset) {}
  void read(Position card, const std::string&, Interval elements, std::span<std::byte> out) override {
    buffers_[card].read({offset_ + elements.lo, offset_ + elements.hi}, out);
  }

 private:
  const std::vector<FlatBuffer>& buffers_;
  std::uint64_t offset_;
};

/// Tries one stored name as a bucket.
class BucketSearch {
 public:
  BucketSearch(const Attempt& attempt, const NameFacts& facts, CardData& cards, WholeTensors& whole)
      : mesh_(attempt.layout.mesh),
        facts_(facts),
        cards_(cards),
        whole_(whole),
        dtype_(first_array(facts.pieces).dtype),
        trial_(mesh_, facts) {
    for (const std::string& name : attempt.missing) {
      const Tensor& tensor = *whole.find(name);
      if (have_same_bytes(tensor.dtype, dtype_) && !tensor.verbatim && !tensor.shape.empty() &&
          numel(tensor.shape) != 0)
        tensors_.push_back(&tensor);
    }
  }

  const BucketTrial& trial() const noexcept { return trial_; }

  /// The buckets of this stored name, one for each combination of coordinates with its own members.
  std::vector<Bucket> buckets() {
    for (const std::uint64_t elements : {4, 2, 1}) {
      take_beginnings(elements);
      if (auto found = by_axis(); !found.empty()) return found;
    }
    return {};
  }

 private:
  /// Reads up to `elements` elements of each tensor's first row, but at most half of it, which a cut in two leaves
  /// together.
  void take_beginnings(std::uint64_t elements) {
    beginnings_.clear();
    located_.clear();
    for (const Tensor* tensor : tensors_) {
      const std::size_t last = tensor->shape.size() - 1;
      const std::uint64_t count = std::clamp<std::uint64_t>(tensor->shape[last] / 2, 1, elements);
      Box box{Shape(last + 1, 0), Shape(last + 1, 1)};
      box.set(last, {0, count});
      beginnings_.push_back({tensor->name, std::string(count * dtype_.size, '\0')});
      whole_.read(tensor->name, box, std::as_writable_bytes(std::span(beginnings_.back().bytes)));
    }
  }

  std::vector<Bucket> by_axis() {
    const std::vector<Axis> differing = differing_axes(mesh_, classes_of(facts_.pieces));
    for (const Axis axis : differing) {
      std::vector<Axis> rest = differing;
      std::erase(rest, axis);
      for (const auto& own : sets_of_axes(mesh_)) {  // the axes along which members differ
        if (!std::includes(rest.begin(), rest.end(), own.begin(), own.end())) continue;
        std::vector<Axis> cutting = rest;
        std::erase_if(cutting, [&](Axis a) { return std::find(own.begin(), own.end(), a) != own.end(); });
        if (auto found = with(axis, own, cutting); !found.empty()) return found;
      }
    }
    return {};
  }

  /// The buffers along an axis of the cards with the coordinates of `base`: one for each combination on `cutting`.
  std::vector<FlatBuffer> buffers(Axis axis, Position base, const std::vector<Axis>& cutting) const {
    std::vector<FlatBuffer> result;
    for (std::uint64_t c = 0; c < mesh_.combinations(cutting); ++c) {
      std::vector<Position> cards;
      for (std::uint64_t i = 0; i < mesh_.shape[axis]; ++i)
        cards.push_back(base + mesh_.position_of_combination(cutting, c) + i * mesh_.stride(axis));
      result.emplace_back(facts_, std::move(cards), cards_);
    }
    return result;
  }

  std::vector<Bucket> with(Axis axis, const std::vector<Axis>& own, const std::vector<Axis>& cutting) {
    std::vector<Bucket> all;
    std::set<std::string> taken;
    for (std::uint64_t at = 0; at < mesh_.combinations(own); ++at) {
      const Position base = mesh_.position_of_combination(own, at);
      const std::vector<FlatBuffer> group = buffers(axis, base, cutting);
      if (group.front().size() == 0) continue;
      const std::vector<LocatedMember>& members = located(axis, base, group.front());
      if (members.empty()) return {};
      for (const LocatedMember& member : members)
        if (!taken.insert(member.name).second) return {};
      Bucket bucket;
      bucket.name = facts_.name;
      bucket.axis = axis;
      for (const Axis a : own) {
        bucket.at.emplace(bucket.at.value_or(At{}))[a] = {mesh_.coordinate(base, a)};
        if (bucket.at->at(a).front() == mesh_.shape[a] - 1) bucket.at_last[a] = {};
      }
      auto complete = aligned(bucket, members, group, cutting);
      if (!complete) return {};
      all.push_back(*std::move(complete));
    }
    return all;
  }

  /// The members in the buffer along an axis that begins on a card; each buffer is searched only once.
  const std::vector<LocatedMember>& located(Axis axis, Position base, const FlatBuffer& buffer) {
    const auto [known, is_new] = located_.try_emplace({axis, base});
    std::vector<LocatedMember>& members = known->second;
    if (!is_new) return members;
    for (const auto& [name, offset] : find_beginnings(buffer, dtype_.size, beginnings_))
      members.push_back({name, offset, 0});
    std::sort(members.begin(), members.end(),
              [](const LocatedMember& a, const LocatedMember& b) { return a.offset < b.offset; });
    for (std::size_t m = 0; m < members.size(); ++m)
      members[m].room = (m + 1 < members.size() ? members[m + 1].offset : buffer.size()) - members[m].offset;
    return members;
  }

  /// How a member is cut over the axes other than the buffer's, judged by the data at its place in each buffer.
  std::optional<Keys> cut(const LocatedMember& member, const std::vector<FlatBuffer>& group,
                          const std::vector<Axis>& cutting) {
    const Shape& shape = whole_.find(member.name)->shape;
    Keys keys;
    if (!cutting.empty()) {
      Mesh mesh;
      for (const Axis a : cutting) {
        mesh.axes.push_back(mesh_.axes[a]);
        mesh.shape.push_back(mesh_.shape[a]);
      }
      MemberData data(group, member.offset);
      std::optional<Keys> found;
      for (const Shape& local : local_shapes(shape, member.room, mesh)) {
        const StoredArray array{member.name, dtype_, local, std::nullopt, false};
        Question question;
        question.name = question.stored = member.name;
        for (const FlatBuffer& buffer : group)
          question.pieces.push_back({&array, content(buffer, member.offset, numel(local))});
        question.differing = differing_axes(mesh, classes_of(question.pieces));
        question.expected = shape;
        question.has_data = true;
        Search search(mesh, data, &whole_);
        const std::vector<Keys> fitting = search.fitting(question);
        if (fitting.size() != 1 || fitting.front().replicas) continue;
        found = fitting.front();
        break;
      }
      if (!found) return std::nullopt;
      keys = *found;
      if (keys.split)
        for (auto& axes : *keys.split)
          for (Axis& a : axes) a = cutting[a];
    }
    keys.shape.emplace(shape.begin(), shape.end());
    return keys;
  }

  /// A hash that shows whether buffers hold the same at a place.
  std::uint64_t content(const FlatBuffer& buffer, std::uint64_t from, std::uint64_t count) const {
    std::string bytes(std::min(count, sampled_elements) * dtype_.size, '\0');
    buffer.read({from, from + bytes.size() / dtype_.size}, std::as_writable_bytes(std::span(bytes)));
    return std::hash<std::string>()(bytes);
  }

  /// The shapes that a card's part of a tensor may have: all of it, or one dimension cut, padded as far as there is
  /// room.
  static std::vector<Shape> local_shapes(const Shape& shape, std::uint64_t room, const Mesh& mesh) {
    std::vector<Shape> shapes;
    const auto add = [&](const Shape& local) {
      if (numel(local) <= room && numel(local) + largest_align > room &&
          std::find(shapes.begin(), shapes.end(), local) == shapes.end())
        shapes.push_back(local);
    };
    const std::uint64_t all = numel(shape);
    if (all <= room) shapes.push_back(shape);
    for (std::size_t dim = 0; dim < shape.size() && all != 0; ++dim) {
      Shape local = shape;
      local[dim] = shape[dim] / mesh.size();
      if (local[dim] * mesh.size() == shape[dim] && numel(local) <= room) shapes.push_back(local);
      for (local[dim] = room / (all / shape[dim]); numel(local) + largest_align > room && local[dim] > 0; --local[dim])
        add(local);
    }
    return shapes;
  }

  /// The bucket with the least alignment and padding that put its members where they are.
  std::optional<Bucket> aligned(Bucket bucket, const std::vector<LocatedMember>& members,
                                const std::vector<FlatBuffer>& group, const std::vector<Axis>& cutting) {
    const std::vector<std::uint64_t>& starts = group.front().starts();
    for (const LocatedMember& member : members) {
      auto keys = cut(member, group, cutting);
      if (!keys) return std::nullopt;
      bucket.members.push_back({member.name, std::nullopt, *std::move(keys)});
    }
    bucket.last_is_short = starts.back() - starts[starts.size() - 2] < starts[1];
    if (trial_.pad(bucket, members, group.front())) return bucket;
    for (BucketMember& member : bucket.members) member.keys.flat = Flat{bucket.axis, 1};
    if (trial_.pad(bucket, members, group.front())) return bucket;
    return std::nullopt;
  }

  const Mesh& mesh_;
  const NameFacts& facts_;
  CardData& cards_;
  WholeTensors& whole_;
  DType dtype_;
  BucketTrial trial_;
  std::vector<const Tensor*> tensors_;  // that may be members
  std::vector<Beginning> beginnings_;
  std::map<std::pair<Axis, Position>, std::vector<LocatedMember>> located_;  // of these beginnings
};

bool may_be_bucket(const NameFacts& facts) {
  return std::all_of(facts.pieces.begin(), facts.pieces.end(), [](const Piece& piece) {
    return piece.array == nullptr || (piece.array->shape.size() == 1 && !piece.array->verbatim);
  });
}

/// If only one bucket shows alignment or padding, gives the others the same, provided that it fits them all: it makes
/// no difference on this mesh, and a framework treats all buckets alike.
void unify(std::vector<Bucket>& buckets, const std::map<std::string, BucketSearch>& searches) {
  std::vector<Bucket> alike = buckets;
  for (Bucket& bucket : alike)
    for (const Bucket& other : buckets) {
      bucket.align = std::max(bucket.align, other.align);
      bucket.multiple_of = std::max(bucket.multiple_of, other.multiple_of);
      bucket.multiple_of_each = std::max(bucket.multiple_of_each, other.multiple_of_each);
    }
  const bool fits = std::all_of(alike.begin(), alike.end(), [&](const Bucket& bucket) {
    return searches.at(bucket.name).trial().has_length_of(bucket);
  });
  if (fits) buckets = std::move(alike);
}

}  // namespace

void find_buckets(Attempt& attempt, const std::vector<NameFacts>& facts, CardData& cards, WholeTensors& whole) {
  if (!whole.has_data()) return;
  std::map<std::string, BucketSearch> searches;  // by name
  for (const NameFacts& fact : facts) {
    if (!attempt.open.contains(fact.name) || whole.find(fact.name) != nullptr || !may_be_bucket(fact)) continue;
    auto& search = searches.try_emplace(fact.name, attempt, fact, cards, whole).first->second;
    for (Bucket& bucket : search.buckets()) {
      for (const BucketMember& member : bucket.members) {
        attempt.open.erase(member.name);
        std::erase(attempt.missing, member.name);
      }
      attempt.open.erase(fact.name);
      attempt.layout.buckets.push_back(std::move(bucket));
    }
  }
  unify(attempt.layout.buckets, searches);
}

}  // namespace ckpt::drafting
