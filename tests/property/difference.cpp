#include <algorithm>
#include <cstring>
#include <map>

#include "plan/chunk.hpp"
#include "plan/planner.hpp"
#include "property/checkpoint.hpp"

namespace model {

namespace {

/// The first difference found ends the comparison.
struct Differs {
  std::string what;
};

void expect(bool holds, const std::string& what) {
  if (!holds) throw Differs{what};
}

class Comparison {
 public:
  explicit Comparison(const Case& drawn)
      : case_(drawn),
        checkpoint_(drawn),
        source_(resolve_source(ckpt::parse_layout(drawn.source.json, "source.json"), checkpoint_.card_arrays())),
        target_(resolve_target(ckpt::parse_layout(drawn.target.json, "target.json"), source_.placement.tensors())) {}

  void run() {
    check_tensors();
    check_warnings(source_, case_.source);
    check_warnings(target_, case_.target);
    check_files(source_.placement, case_.source);
    check_files(target_.placement, case_.target);
    check_regions(source_.placement, checkpoint_.source_cards());
    check_regions(target_.placement, checkpoint_.target());
    std::vector<ckpt::ParameterId> source_of;
    for (const ckpt::Tensor& tensor : target_.placement.tensors())
      source_of.push_back(*source_.placement.find(tensor.name));
    const ckpt::Readers readers(source_.placement, case_.owners);
    const ckpt::Planner planner(source_.placement, target_.placement, source_of, readers);
    for (std::uint64_t position = 0; position < checkpoint_.target().size(); ++position) check_card(planner, position);
  }

 private:
  void check_tensors() const {
    const auto& found = source_.placement.tensors();
    expect(found.size() == case_.tensors.size(), std::to_string(found.size()) + " parameters found");
    for (const Tensor& tensor : case_.tensors) {
      const std::string name = logical_name(tensor);
      const auto id = source_.placement.find(name);
      expect(id.has_value(), name + " is not found");
      expect(found[*id].shape == ckpt::Shape(tensor.shape), name + " is taken for " + to_string(found[*id].shape));
      expect(found[*id].dtype.name == dtype_name(tensor.element_bytes),
             name + " is taken for " + found[*id].dtype.name);
    }
  }

  static void check_warnings(const ckpt::Resolved& resolved, const Side& side) {
    expect(resolved.warnings.size() == side.unused_rules, "warnings: " + ckpt::join(resolved.warnings));
  }

  static void check_files(const ckpt::Placement& placement, const Side& side) {
    const Mesh& mesh = side.layout.mesh;
    for (std::uint64_t position = 0; position < positions(mesh); ++position) {
      std::string expected = side.layout.files;
      const std::size_t open = expected.find("{card");
      const std::size_t close = expected.find('}');
      std::string digits = std::to_string(mesh.cards.empty() ? position : mesh.cards[position]);
      if (expected[open + 5] == ':')
        digits.insert(0, std::max<std::size_t>(std::stoul(expected.substr(open + 6)), digits.size()) - digits.size(),
                      '0');
      expected.replace(open, close - open + 1, digits);
      const std::string found = placement.layout().files.path(placement.mesh(), position);
      expect(found == expected,
             "the file at position " + std::to_string(position) + " is " + found + ", not " + expected);
    }
  }

  /// Each region of each array, element by element: all that is no padding is covered once.
  void check_regions(const ckpt::Placement& placement, const std::vector<Card>& cards) const {
    std::map<std::string, std::size_t> number_of;
    for (std::size_t t = 0; t < case_.tensors.size(); ++t) number_of[logical_name(case_.tensors[t])] = t;
    for (ckpt::ArrayId array = 0; array < placement.arrays().size(); ++array)
      for (std::uint64_t position = 0; position < cards.size(); ++position) {
        if (!placement.holds(position, array)) continue;
        const std::string& name = placement.arrays()[array].name;
        const auto expected = cards[position].find(name);
        expect(expected != cards[position].end(),
               "position " + std::to_string(position) + ": " + name + " is too much");
        std::vector<Cell> found(expected->second.cells.size());
        placement.for_each_region(array, position, {0, found.size()},
                                  [&](ckpt::ParameterId parameter, const ckpt::Region& region) {
                                    const std::string& tensor = placement.tensors()[parameter].name;
                                    expect(put_region(region, case_.tensors[number_of.at(tensor)].shape,
                                                      static_cast<std::int32_t>(number_of.at(tensor)), found),
                                           "position " + std::to_string(position) + ": " + name + ": a region of " +
                                               tensor + " leaves its array or meets another");
                                  });
        expect(found == expected->second.cells,
               "position " + std::to_string(position) + ": " + name + ": its regions differ");
      }
  }

  static bool put_region(const ckpt::Region& region, const Numbers& shape, std::int32_t tensor,
                         std::vector<Cell>& cells) {
    const ckpt::Shape extents = region.box.shape();
    const std::uint64_t count = numel(extents);
    for (std::uint64_t i = 0; i < count; ++i) {
      Cell cell{tensor, 0, region.fill};
      std::uint64_t at = region.offset;
      std::uint64_t rest = i;
      std::uint64_t weight = 1;
      for (std::size_t d = shape.size(); d-- > 0; rest /= extents[d], weight *= shape[d]) {
        cell.index += static_cast<std::uint32_t>((region.box.lo[d] + rest % extents[d]) * weight);
        at += rest % extents[d] * region.strides[d];
      }
      if (at >= cells.size() || cells[at].tensor >= 0) return false;
      cells[at] = cell;
    }
    return true;
  }

  void check_card(const ckpt::Planner& planner, std::uint64_t position) const {
    const Card& expected = checkpoint_.target()[position];
    const ckpt::Placement& placement = planner.target();
    const std::string card = "target position " + std::to_string(position) + ": ";
    std::size_t held = 0;
    for (ckpt::ArrayId array = 0; array < placement.arrays().size(); ++array) {
      if (!placement.holds(position, array)) continue;
      ++held;
      const std::string& name = placement.arrays()[array].name;
      const auto found = expected.find(name);
      expect(found != expected.end(), card + name + " is too much");
      const ckpt::Shape shape = placement.stored_shape(array, position);
      expect(shape == ckpt::Shape(found->second.shape),
             card + name + " is " + to_string(shape) + ", not " + ckpt::format_list(found->second.shape));
      expect(placement.arrays()[array].dtype.size == found->second.element_bytes, card + name + ": another dtype");
      check_array(planner, array, position, found->second, card + name);
    }
    expect(held == expected.size(), card + std::to_string(held) + " arrays of " + std::to_string(expected.size()));
  }

  void check_array(const ckpt::Planner& planner, ckpt::ArrayId array, std::uint64_t position, const Array& expected,
                   const std::string& place) const {
    // In chunks that are boxes of it, and in others.
    for (const ckpt::Shape& shape : {ckpt::Shape(expected.shape), ckpt::Shape{expected.cells.size()}})
      check_chunks(planner, array, position, expected, shape, place);
  }

  void check_chunks(const ckpt::Planner& planner, ckpt::ArrayId array, std::uint64_t position, const Array& expected,
                    const ckpt::Shape& shape, const std::string& place) const {
    const std::uint64_t element = expected.element_bytes;
    const Bytes wanted = contents(expected);
    const ckpt::ChunkGrid grid(shape, element, case_.chunk_bytes);
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < grid.count(); ++i) {
      const ckpt::Interval elements = grid[i];
      expect(elements.lo == next && elements.hi > next,
             place + ": chunk " + std::to_string(i) + " is out of its place");
      next = elements.hi;
      const ckpt::Chunk chunk{position, array, elements, elements.size() * element};
      const Bytes found = assembled(planner, chunk, count_filled(expected, elements) * element, place);
      const bool is_same =
          std::equal(found.begin(), found.end(), wanted.begin() + static_cast<std::ptrdiff_t>(elements.lo * element));
      expect(is_same,
             place + ": elements [" + std::to_string(elements.lo) + ", " + std::to_string(elements.hi) + ") differ");
    }
    expect(next == expected.cells.size(), place + ": the chunks end at element " + std::to_string(next));
  }

  static std::uint64_t count_filled(const Array& array, ckpt::Interval elements) {
    std::uint64_t count = 0;
    for (std::uint64_t i = elements.lo; i < elements.hi; ++i) count += array.cells[i].tensor >= 0 ? 1 : 0;
    return count;
  }

  Bytes assembled(const ckpt::Planner& planner, const ckpt::Chunk& chunk, std::uint64_t filled,
                  const std::string& place) const {
    Bytes bytes(chunk.bytes);
    std::uint64_t copied = 0;
    const std::uint64_t told = planner.for_each_transfer(
        chunk, static_cast<std::uint32_t>(chunk.card % 3), [&](const ckpt::Transfer& transfer) {
          const Bytes& from = checkpoint_.source(transfer.card, planner.source().arrays()[transfer.array].name);
          const ckpt::StridedCopy copy = transfer.copy();
          const std::uint64_t source_offset = transfer.source.offset * transfer.element;
          std::uint64_t target_span = copy.run;
          for (std::size_t i = 0; i < copy.depth; ++i)
            target_span += (copy.loops[i].count - 1) * copy.loops[i].target_stride;
          expect(source_offset + copy.source_span() <= from.size(), place + ": a transfer reads beyond its source");
          expect(transfer.target_offset + target_span <= bytes.size(), place + ": a transfer writes beyond its chunk");
          ckpt::run(copy, from.data() + source_offset, bytes.data() + transfer.target_offset);
          copied += copy.bytes();
        });
    expect(told == filled && copied == filled, place + ": " + std::to_string(copied) + " bytes copied, " +
                                                   std::to_string(told) + " told, not " + std::to_string(filled));
    return bytes;
  }

  const Case& case_;
  Checkpoint checkpoint_;
  ckpt::Resolved source_;
  ckpt::Resolved target_;
};

}  // namespace

std::string difference(const Case& drawn) {
  try {
    Comparison(drawn).run();
  } catch (const Differs& difference) {
    return difference.what;
  } catch (const ckpt::Error& error) {
    return std::string("refused: ") + error.what();
  }
  return {};
}

}  // namespace model
