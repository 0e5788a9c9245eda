#include "frameworks/paddle_metadata.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "store/guarded_reading.hpp"
#include "store/pdparams/paddle_file.hpp"
#include "store/pickle/pickle_fields.hpp"

namespace ckpt {

namespace {

using torch::field_of;
using torch::need_field;
using torch::no_node;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;
using torch::PickleNode;

constexpr std::uint64_t most_pickle_bytes = 512U << 20;
constexpr std::uint64_t memory_per_metadata_byte = 96;
constexpr std::uint64_t metadata_bytes_per_second = 256U << 10;

[[noreturn]] void refuse_dist(std::string_view object, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, object, {found, expected, "is the file damaged, or of a newer version of Paddle?"});
}

/// What identifies a piece: its tensor, the first index of its box, and the run of its elements.
struct PieceKey {
  std::string tensor;
  std::vector<std::uint64_t> lo;
  Interval flat;

  friend bool operator<(const PieceKey& a, const PieceKey& b) {
    return std::tie(a.tensor, a.lo, a.flat.lo, a.flat.hi) < std::tie(b.tensor, b.lo, b.flat.lo, b.flat.hi);
  }
};

struct NaturalLess {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

bool is_bare(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

class DistReader {
 public:
  explicit DistReader(const Pickle& pickle) : pickle_(pickle) {}

  DistMetadata read() {
    const PickleId root = pickle_.root();
    if (class_of(pickle_, root) != "Metadata")
      refuse_dist("", "holds no Metadata", "what paddle.distributed.save_state_dict writes");
    read_places(need_field(pickle_, root, "storage_metadata"));
    for_each_pair(need_field(pickle_, root, "state_dict_metadata"), "state_dict_metadata",
                  [&](PickleId key, PickleId value) {
                    const std::string name(text_of(pickle_, key, "a name in state_dict_metadata"));
                    with_context("/" + name, [&] { add_tensor(name, value); });
                  });
    std::sort(metadata_.tensors.begin(), metadata_.tensors.end(),
              [](const DistTensor& a, const DistTensor& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < metadata_.tensors.size(); ++i)
      if (metadata_.tensors[i].name == metadata_.tensors[i - 1].name)
        refuse_dist("/" + metadata_.tensors[i].name, "stands there twice", "once");
    return std::move(metadata_);
  }

 private:
  template <class Visit>
  void for_each_pair(PickleId dict, const char* what, const Visit& visit) const {
    const PickleNode& node = pickle_[dict];
    if (node.kind != PickleKind::dict) refuse_dist(what, "is no dict", "a dict");
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) visit(node.items[i], node.items[i + 1]);
  }

  /// The run of elements that an entry names; empty where it has all of its box.
  Interval flat_of(PickleId entry) const {
    const PickleId range = field_of(pickle_, entry, "flattened_range");
    if (range == no_node || is_none(pickle_, range)) return {};
    const Shape ends = whole_numbers(pickle_, range, "a flattened_range");
    if (ends.size() != 2 || ends[0] > ends[1])
      refuse_dist("", "has the flattened_range " + to_string(ends), "a begin and an end");
    return {ends[0], ends[1]};
  }

  PieceKey key_of(const std::string& tensor, PickleId entry) const {
    const Shape lo = whole_numbers(pickle_, need_field(pickle_, entry, "global_offset"), "a global_offset");
    return {tensor, {lo.begin(), lo.end()}, flat_of(entry)};
  }

  void read_places(PickleId places) {
    std::map<std::string, std::uint32_t, NaturalLess> numbers;
    std::vector<std::pair<PieceKey, std::string>> found;
    for_each_pair(places, "storage_metadata", [&](PickleId key, PickleId value) {
      const std::string tensor(text_of(pickle_, need_field(pickle_, key, "tensor_key"), "a tensor_key"));
      std::string file(text_of(pickle_, value, "the name of a file"));
      if (!is_bare(file)) refuse_dist("/" + tensor, "is in \"" + file + "\"", "a file of the directory");
      numbers.emplace(file, 0);
      found.emplace_back(key_of(tensor, key), std::move(file));
    });
    for (auto& [file, number] : numbers) {
      number = static_cast<std::uint32_t>(metadata_.files.size());
      metadata_.files.push_back(file);
    }
    for (auto& [key, file] : found) places_[std::move(key)].push_back(numbers.at(file));
    for (auto& [key, files] : places_) {
      std::sort(files.begin(), files.end());
      files.erase(std::unique(files.begin(), files.end()), files.end());
    }
  }

  /// Older versions store one description without a list.
  void add_tensor(const std::string& name, PickleId value) {
    DistTensor tensor{name, {}, {}, {}};
    const bool is_list = pickle_[value].kind == PickleKind::list || pickle_[value].kind == PickleKind::tuple;
    std::vector<PickleId> entries = is_list ? pickle_[value].items : std::vector<PickleId>{value};
    if (entries.empty()) refuse_dist("", "has no pieces", "one at least");
    std::optional<Shape> shape;
    for (const PickleId entry : entries) {
      tensor.pieces.push_back(piece_of(name, entry));
      const Box& box = tensor.pieces.back().box;
      if (const PickleId stated = field_of(pickle_, entry, "global_shape");
          stated != no_node && !is_none(pickle_, stated))
        shape = whole_numbers(pickle_, stated, "its global_shape");
      if (const PickleId type = field_of(pickle_, entry, "dtype"); type != no_node && !is_none(pickle_, type))
        tensor.type = text_of(pickle_, type, "its dtype");
      if (box.rank() != tensor.pieces.front().box.rank())
        refuse_dist("", "has pieces of several numbers of dimensions", "one number");
    }
    tensor.shape = shape ? *shape : end_of(tensor.pieces);
    for (const DistPiece& piece : tensor.pieces)
      if (piece.box.rank() != tensor.shape.size() || !contains(whole(tensor.shape), piece.box))
        refuse_dist("", "has the piece " + to_string(piece.box), "one within its shape " + to_string(tensor.shape));
    drop_empty(tensor);
    metadata_.tensors.push_back(std::move(tensor));
  }

  DistPiece piece_of(const std::string& name, PickleId entry) const {
    const PieceKey key = key_of(name, entry);
    const Shape sizes = whole_numbers(pickle_, need_field(pickle_, entry, "local_shape"), "a local_shape");
    if (sizes.size() != key.lo.size())
      refuse_dist("",
                  "has a piece with " + std::to_string(key.lo.size()) + " offsets and " + std::to_string(sizes.size()) +
                      " sizes",
                  "as many");
    DistPiece piece{{Shape(std::span(key.lo)), Shape(sizes.size())}, std::nullopt, {}};
    for (std::size_t d = 0; d < sizes.size(); ++d) piece.box.hi[d] = checked_add(key.lo[d], sizes[d], "a piece's end");
    const PickleId flag = field_of(pickle_, entry, "is_flattened");
    if (flag != no_node && pickle_[flag].kind == PickleKind::boolean && pickle_[flag].number != 0) {
      if (key.flat.hi > numel(sizes))
        refuse_dist("", "has elements up to " + std::to_string(key.flat.hi) + " of a piece",
                    "at most " + std::to_string(numel(sizes)) + ", all of its box");
      piece.flat = key.flat;
    }
    const auto place = places_.find(key);
    if (place == places_.end())
      refuse_dist("", "has the piece " + to_string(piece.box) + " in no file", "the name of one");
    piece.files = place->second;
    return piece;
  }

  static Shape end_of(const std::vector<DistPiece>& pieces) {
    Shape end = pieces.front().box.hi;
    for (const DistPiece& piece : pieces)
      for (std::size_t d = 0; d < end.size(); ++d) end[d] = std::max(end[d], piece.box.hi[d]);
    return end;
  }

  /// Pieces without elements say nothing, except of a tensor without elements.
  static void drop_empty(DistTensor& tensor) {
    const auto is_empty = [](const DistPiece& piece) {
      return piece.box.empty() || (piece.flat && piece.flat->empty());
    };
    if (whole(tensor.shape).empty())
      tensor.pieces.resize(1);
    else
      std::erase_if(tensor.pieces, is_empty);
  }

  const Pickle& pickle_;
  DistMetadata metadata_;
  std::map<PieceKey, std::vector<std::uint32_t>> places_;
};

DistMetadata metadata_in(const PosixFile& file, std::uint64_t file_bytes) {
  const std::string bytes = file.text(0, file_bytes);
  std::size_t at = 0;
  const auto pickle = Pickle::read(bytes, at);
  if (!pickle) throw Error(Kind::input, "", {"ends before its object does", "a whole one", "is the file truncated?"});
  return parse_paddle_metadata(*pickle);
}

}  // namespace

DistMetadata parse_paddle_metadata(const Pickle& pickle) {
  return DistReader(pickle).read();
}

DistMetadata read_paddle_metadata(const std::filesystem::path& path) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  return with_file(path.string(), [&] {
    if (bytes > most_pickle_bytes)
      throw Error(Kind::input, "", {"has " + format_bytes(bytes), "at most " + format_bytes(most_pickle_bytes), ""});
    return read_guarded<metadata_in>(file, bytes, pdparams::format_name,
                                     limits_for(bytes, memory_per_metadata_byte, metadata_bytes_per_second));
  });
}

}  // namespace ckpt
