#include "store/tensorflow/bundle.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/protobuf.hpp"
#include "store/tensorflow/element_types.hpp"
#include "store/tensorflow/slice_key.hpp"
#include "store/tensorflow/table.hpp"

namespace ckpt::tensorflow {

namespace {

constexpr std::uint64_t most_shards = 100000;
constexpr std::size_t most_slices = 1U << 20;
constexpr std::uint64_t known_version = 1;
constexpr const char* save_again = "load the checkpoint with TensorFlow, and save it again";
constexpr const char* of_one_save = "are index and data those of one save? Take another copy of the checkpoint";

using protobuf::Field;
using protobuf::Range;
using protobuf::Reader;

std::uint64_t non_negative(const Field& field, const char* what) {
  const std::uint64_t value = Reader::number(field);
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error(Kind::input, what, {"is negative", "a number from 0 on", of_one_save});
  return value;
}

struct Header {
  std::uint64_t shards = 0;
  std::uint64_t endianness = 0;
  std::uint64_t least_reader = 0;  ///< the version that it demands
  bool is_for_others = false;      ///< it excludes this version
};

void read_version(Reader& reader, const Field& field, Header& header) {
  reader.for_each_field(Reader::message(field), [&](const Field& part) {
    if (part.number == 2) header.least_reader = Reader::number(part);
    if (part.number != 3) return;
    std::vector<std::uint64_t> bad;
    reader.append_numbers(part, bad, most_slices);
    header.is_for_others = header.is_for_others || std::ranges::find(bad, known_version) != bad.end();
  });
}

Header header_in(std::string_view message) {
  Header header;
  Reader reader(message);
  reader.for_each_field({0, message.size()}, [&](const Field& field) {
    if (field.number == 1 && field.wire == protobuf::Wire::bytes)
      throw Error(Kind::input, "",
                  {"is a checkpoint of TensorFlow's first form (V1), as versions before 1.0 wrote it",
                   "one of the second form: PREFIX.index and PREFIX.data-…", save_again});
    if (field.number == 1) header.shards = Reader::number(field);
    if (field.number == 2) header.endianness = Reader::number(field);
    if (field.number == 3) read_version(reader, field, header);
  });
  if (header.least_reader > known_version || header.is_for_others)
    throw Error(Kind::input, "",
                {"is a bundle for readers of another version", "version " + std::to_string(known_version),
                 "load it with the TensorFlow that wrote it, and save it again"});
  if (header.endianness != 0)
    throw Error(Kind::input, "",
                {"is a bundle of big-endian numbers", "little-endian ones",
                 "load it with TensorFlow on another machine, which swaps them, and save it again"});
  if (header.shards > most_shards)
    throw Error(Kind::input, "",
                {std::to_string(header.shards) + " data files", "at most " + std::to_string(most_shards), ""});
  return header;
}

/// An entry as it is stored.
struct StoredEntry {
  std::uint64_t type = 0;
  Shape shape;
  bool has_rank = true;
  std::uint64_t shard = 0;
  Interval place;
  std::uint32_t crc = 0;
  std::vector<std::vector<SliceExtent>> slices;
};

void read_shape(Reader& reader, Range message, StoredEntry& entry) {
  reader.for_each_field(message, [&](const Field& field) {
    if (field.number == 3 && Reader::number(field) != 0) entry.has_rank = false;
    if (field.number != 2) return;
    std::uint64_t size = 0;
    reader.for_each_field(Reader::message(field), [&](const Field& part) {
      if (part.number == 1) size = non_negative(part, "its shape");
    });
    entry.shape.push_back(size);
  });
}

std::vector<SliceExtent> slice_in(Reader& reader, Range message) {
  std::vector<SliceExtent> slice;
  reader.for_each_field(message, [&](const Field& field) {
    if (field.number != 1) return;
    SliceExtent extent;
    reader.for_each_field(Reader::message(field), [&](const Field& part) {
      if (part.number == 1) extent.start = static_cast<std::int64_t>(non_negative(part, "a slice's start"));
      if (part.number == 2) extent.length = static_cast<std::int64_t>(non_negative(part, "a slice's length"));
    });
    if (extent.length < 0) extent.start = 0;
    slice.push_back(extent);
    if (slice.size() > max_rank)
      throw Error(Kind::input, "a slice", {"has more than " + std::to_string(max_rank) + " dimensions", "fewer", ""});
  });
  return slice;
}

StoredEntry entry_in(std::string_view message) {
  StoredEntry entry;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  Reader reader(message);
  reader.for_each_field({0, message.size()}, [&](const Field& field) {
    if (field.number == 1) entry.type = Reader::number(field);
    if (field.number == 2) read_shape(reader, Reader::message(field), entry);
    if (field.number == 3) entry.shard = non_negative(field, "its data file's number");
    if (field.number == 4) offset = non_negative(field, "its offset");
    if (field.number == 5) bytes = non_negative(field, "its size");
    if (field.number == 6) entry.crc = static_cast<std::uint32_t>(Reader::number(field));
    if (field.number == 7) entry.slices.push_back(slice_in(reader, Reader::message(field)));
    if (entry.slices.size() > most_slices)
      throw Error(Kind::input, "", {"has more than " + std::to_string(most_slices) + " slices", "fewer", ""});
  });
  entry.crc = unmasked(entry.crc);
  entry.place = {offset, checked_add(offset, bytes, "the end of its data")};
  return entry;
}

std::optional<Error> reason_against(const StoredEntry& entry) {
  const auto reason = [](const std::string& found, const std::string& expected) {
    return Error(Kind::input, "", {found, expected, ""});
  };
  if (!entry.has_rank) return reason("has a shape of unknown rank", "a shape");
  if (entry.type == resource_number || entry.type == variant_number)
    return reason(std::string("is a ") + (entry.type == variant_number ? "variant" : "resource") +
                      ", an object that TensorFlow alone can read",
                  "numbers or strings");
  if (entry.type == string_number && !entry.slices.empty())
    return reason("is a partitioned tensor of strings", "a whole one");
  if (entry.type != string_number && !element_type(static_cast<std::uint32_t>(entry.type)))
    return reason("has elements of an unknown type, of TensorFlow's number " + std::to_string(entry.type),
                  "a type of its versions up to 2.21");
  return std::nullopt;
}

void check_bytes(const StoredEntry& entry) {
  const std::uint64_t elements = numel(entry.shape);
  if (entry.type == string_number) return;  // checked when it is read
  const std::uint64_t expected =
      checked_mul(elements, element_type(static_cast<std::uint32_t>(entry.type))->dtype.size, "a tensor's size");
  if (entry.place.size() != expected)
    throw Error(Kind::input, "",
                {std::to_string(entry.place.size()) + " bytes",
                 std::to_string(expected) + " for a shape of " + to_string(entry.shape), of_one_save});
}

/// Collects entries, of which those of slices come first.
class IndexReader {
 public:
  explicit IndexReader(const std::string& prefix) : prefix_(prefix) {}

  void add(std::string_view key, std::string_view value) {
    if (is_first_) {
      if (!key.empty())
        throw Error(Kind::input, "",
                    {"is a table without a bundle's header", "the index of a checkpoint of TensorFlow", save_again});
      header_ = header_in(value);
      is_first_ = false;
    } else if (key.starts_with('\0')) {
      slices_.emplace(key, entry_in(value));
    } else {
      tensor(std::string(key), value);
    }
  }

  Bundle finish() {
    if (is_first_)
      throw Error(Kind::input, "", {"is an empty table", "the index of a checkpoint of TensorFlow", save_again});
    if (!slices_.empty())
      throw Error(Kind::input, "", {std::to_string(slices_.size()) + " pieces of no tensor", "none", of_one_save});
    number_files();
    return std::move(bundle_);
  }

 private:
  void tensor(std::string name, std::string_view value) {
    with_context("/" + name, [&] {
      const StoredEntry entry = entry_in(value);
      BundleTensor made{name, static_cast<std::uint32_t>(entry.type), entry.shape, {}};
      made.refusal = reason_against(entry);
      if (made.refusal) {
        made.shape = {0};
        made.pieces.push_back(piece(entry, whole(made.shape)));
        for (const auto& slice : entry.slices) slices_.erase(slice_key(name, slice));
      } else if (entry.slices.empty()) {
        check_bytes(entry);
        made.pieces.push_back(piece(entry, whole(entry.shape)));
      }
      if (!made.refusal)
        for (const auto& slice : entry.slices) made.pieces.push_back(piece_of(entry, name, slice));
      bundle_.tensors.push_back(std::move(made));
    });
  }

  /// The piece of a slice, from the slice's own entry.
  BundlePiece piece_of(const StoredEntry& whole_entry, const std::string& name, const std::vector<SliceExtent>& slice) {
    const auto own = slices_.extract(slice_key(name, slice));
    const Box box = box_of(whole_entry.shape, slice);
    if (own.empty())
      throw Error(Kind::input, "", {"no entry for its piece " + to_string(box), "one for each piece", of_one_save});
    const StoredEntry& entry = own.mapped();
    if (entry.type != whole_entry.type || !(entry.shape == box.shape()))
      throw Error(Kind::input, "",
                  {"a piece of shape " + to_string(entry.shape) + " and type number " + std::to_string(entry.type),
                   to_string(box.shape()) + " and " + std::to_string(whole_entry.type) + ", as the tensor's entry says",
                   of_one_save});
    check_bytes(entry);
    return piece(entry, box);
  }

  static Box box_of(const Shape& shape, const std::vector<SliceExtent>& slice) {
    Box box = whole(shape);
    if (slice.size() != shape.size())
      throw Error(
          Kind::input, "",
          {"a piece of " + std::to_string(slice.size()) + " dimensions", std::to_string(shape.size()), of_one_save});
    for (std::size_t d = 0; d < slice.size(); ++d) {
      if (slice[d].length < 0) continue;
      const auto start = static_cast<std::uint64_t>(slice[d].start);
      const auto length = static_cast<std::uint64_t>(slice[d].length);
      if (start > shape[d] || length > shape[d] - start)
        throw Error(
            Kind::input, "",
            {"a piece that ends beyond dimension " + std::to_string(d), "one within " + to_string(shape), of_one_save});
      box.set(d, {start, start + length});
    }
    return box;
  }

  /// Until the files are numbered, a piece has its shard instead.
  BundlePiece piece(const StoredEntry& entry, const Box& box) {
    if (entry.shard >= header_.shards)
      throw Error(Kind::input, "",
                  {"lies in data file " + std::to_string(entry.shard), "one below " + std::to_string(header_.shards),
                   of_one_save});
    shards_.insert(static_cast<std::uint32_t>(entry.shard));
    return {box, static_cast<std::uint32_t>(entry.shard), 0, entry.place, entry.crc};
  }

  void number_files() {
    std::vector<std::uint32_t> file_of(header_.shards);
    for (const std::uint32_t shard : shards_) {
      file_of[shard] = static_cast<std::uint32_t>(bundle_.files.size());
      bundle_.files.push_back(data_name(prefix_, shard, header_.shards));
    }
    std::map<std::uint32_t, std::uint32_t> slots;
    for (BundleTensor& tensor : bundle_.tensors) {
      slots.clear();
      for (BundlePiece& piece : tensor.pieces) {
        piece.file = file_of[piece.file];
        piece.slot = slots[piece.file]++;
      }
    }
  }

  const std::string& prefix_;
  bool is_first_ = true;
  Header header_;
  std::unordered_map<std::string, StoredEntry> slices_;  // by key, without those that a tensor has taken
  std::set<std::uint32_t> shards_;
  Bundle bundle_;
};

// ---- Writing

std::string shape_message(const Shape& shape) {
  std::string message;
  for (const std::uint64_t size : shape) {
    std::string dimension;
    if (size != 0) protobuf::put_number(dimension, 1, size);
    protobuf::put_bytes(message, 2, dimension);
  }
  return message;
}

std::string slice_message(const std::vector<SliceExtent>& slice) {
  std::string message;
  for (const SliceExtent& extent : slice) {
    std::string part;
    if (extent.start > 0) protobuf::put_number(part, 1, static_cast<std::uint64_t>(extent.start));
    if (extent.length >= 0) protobuf::put_number(part, 2, static_cast<std::uint64_t>(extent.length));
    protobuf::put_bytes(message, 1, part);
  }
  return message;
}

std::vector<SliceExtent> slice_of(const Box& box, const Shape& shape) {
  std::vector<SliceExtent> slice(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (box[d].size() != shape[d])
      slice[d] = {static_cast<std::int64_t>(box[d].lo), static_cast<std::int64_t>(box[d].size())};
  return slice;
}

/// The entry of a tensor that is stored in one place, or of one piece.
std::string placed_entry(const WrittenPiece& piece, std::uint64_t shard) {
  std::string entry;
  protobuf::put_number(entry, 1, piece.type);
  protobuf::put_bytes(entry, 2, shape_message(piece.box.shape()));
  if (shard != 0) protobuf::put_number(entry, 3, shard);
  if (piece.place.lo != 0) protobuf::put_number(entry, 4, piece.place.lo);
  if (!piece.place.empty()) protobuf::put_number(entry, 5, piece.place.size());
  if (const std::uint32_t crc = masked(piece.crc); crc != 0) protobuf::put_fixed32(entry, 6, crc);
  return entry;
}

void put(std::map<std::string, std::string>& entries, std::string key, std::string entry, const std::string& name) {
  if (!entries.emplace(std::move(key), std::move(entry)).second)
    throw Error(Kind::input, "/" + name,
                {"two tensors would have this name", "one", "leave one out with --drop, or rename it"});
}

}  // namespace

bool Bundle::is_consistent() const noexcept {
  return std::all_of(tensors.begin(), tensors.end(), [&](const BundleTensor& tensor) {
    return std::all_of(tensor.pieces.begin(), tensor.pieces.end(), [&](const BundlePiece& piece) {
      return piece.file < files.size() && piece.box.rank() == tensor.shape.size();
    });
  });
}

std::string data_name(const std::string& prefix, std::uint64_t shard, std::uint64_t shards) {
  constexpr std::size_t digits = 5;
  const auto padded = [](std::uint64_t number) {
    std::string text = std::to_string(number);
    return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
  };
  return prefix + ".data-" + padded(shard) + "-of-" + padded(shards);
}

std::optional<std::string> prefix_of_data(const std::string& name) {
  static const std::regex form(R"((.+)\.data-\d{5,9}-of-\d{5,9})");
  std::smatch found;
  return std::regex_match(name, found, form) ? std::optional(found[1].str()) : std::nullopt;
}

Bundle read_index(const PosixFile& file, std::uint64_t file_bytes, const std::string& prefix) {
  IndexReader reader(prefix);
  for_each_entry(file, file_bytes, [&](std::string_view key, std::string_view value) { reader.add(key, value); });
  return reader.finish();
}

std::string index_of(const std::vector<std::vector<WrittenPiece>>& files) {
  std::map<std::string, std::string> entries;
  std::string header;
  protobuf::put_number(header, 1, files.size());
  std::string version;
  protobuf::put_number(version, 1, known_version);
  protobuf::put_bytes(header, 3, version);
  entries.emplace("", std::move(header));
  std::map<std::string, std::vector<std::pair<std::uint64_t, const WrittenPiece*>>> tensors;
  for (std::uint64_t shard = 0; shard < files.size(); ++shard)
    for (const WrittenPiece& piece : files[shard]) tensors[piece.name].emplace_back(shard, &piece);
  for (auto& [name, pieces] : tensors) {
    const WrittenPiece& first = *pieces.front().second;
    if (first.box == whole(first.shape)) {
      for (const auto& [shard, piece] : pieces) put(entries, name, placed_entry(*piece, shard), name);
      continue;
    }
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
      return std::ranges::lexicographical_compare(a.second->box.lo, b.second->box.lo);
    });
    std::string entry;
    protobuf::put_number(entry, 1, first.type);
    protobuf::put_bytes(entry, 2, shape_message(first.shape));
    for (const auto& [shard, piece] : pieces) {
      const std::vector<SliceExtent> slice = slice_of(piece->box, piece->shape);
      protobuf::put_bytes(entry, 7, slice_message(slice));
      put(entries, slice_key(name, slice), placed_entry(*piece, shard), name);
    }
    put(entries, name, std::move(entry), name);
  }
  return table_of(entries);
}

}  // namespace ckpt::tensorflow
