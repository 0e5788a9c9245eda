#include "store/pdparams/numpy_arrays.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "store/pdparams/numpy_types.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/little_endian.hpp"
#include "store/pickle/pickle_fields.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "tensor/number.hpp"
#include "tensor/region.hpp"

namespace ckpt::pdparams {

namespace {

namespace op = torch::op;
using torch::no_node;
using torch::node_of;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;
using torch::PickleNode;

constexpr std::string_view big_parameters = "UnpackBigParamInfor@@";

[[noreturn]] void refuse_array(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "an array of NumPy", {found, expected, "is the file damaged?"});
}

/// Whether a name is that of a function of numpy.core.multiarray, or of numpy._core.multiarray.
bool is_numpy(std::string_view name, std::string_view function) {
  if (!name.ends_with(function)) return false;
  name.remove_suffix(function.size());
  return name == "numpy.core.multiarray." || name == "numpy._core.multiarray.";
}

bool is_builtin(std::string_view name, std::string_view function) {
  return name.substr(std::min(name.size(), name.find('.') + 1)) == function &&
         (name.starts_with("builtins.") || name.starts_with("__builtin__."));
}

/// Elements from one index of each dimension to the next, if the first dimension is the densest.
Shape column_strides(const Shape& shape) {
  Shape strides;
  std::uint64_t next = 1;
  for (const std::uint64_t size : shape) {
    strides.push_back(next);
    next = checked_mul(next, std::max<std::uint64_t>(size, 1), "an array");
  }
  return strides;
}

/// The bytes of an array as a pickle stores them.
struct StoredBytes {
  PickleId node = no_node;  ///< no_node: none
  bool is_text = false;
};

/// An array that became a tensor.
struct KnownArray {
  std::string type;  ///< torch's name
  std::uint64_t bytes = 0;
  std::vector<Interval> runs;
  bool is_text = false;
  std::uint64_t element_bytes = 0;
};

std::uint64_t bytes_of_array(const Shape& shape, std::uint64_t element_bytes) {
  const std::uint64_t bytes = checked_mul(numel(shape), element_bytes, "an array");
  if (bytes > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    refuse_array("has " + std::to_string(bytes) + " bytes", "less than 2^63");
  return bytes;
}

class Conversion {
 public:
  Conversion(SkimmedPickle& file, std::uint64_t file_bytes, bool is_of_paddle)
      : file_(file), pickle_(file.pickle()), next_scattered_(file_bytes), is_of_paddle_(is_of_paddle) {}

  FoundArrays run() {
    const auto nodes = static_cast<PickleId>(pickle_.nodes().size());
    for (PickleId id = 0; id < nodes; ++id)  // parts come before what they are in
      if (pickle_[id].kind == PickleKind::call) convert(id);
    join_big_parameters();
    return std::move(found_);
  }

 private:
  const std::vector<PickleId>& arguments(PickleId call) const { return pickle_[pickle_[call].arguments].items; }

  void convert(PickleId id) {
    const std::string_view name = pickle_.name_of(id);
    if (is_numpy(name, "_reconstruct")) return array(id);
    if (is_numpy(name, "scalar")) return scalar(id);
    if (is_builtin(name, "tuple")) return named_tensor(id);
    if (is_builtin(name, "eval")) return dense_tensor(id);
  }

  /// The state: version, shape, type, whether columns come first, bytes.
  void array(PickleId id) {
    const PickleId state = pickle_[id].state;
    if (state == no_node || pickle_[state].kind != PickleKind::tuple || pickle_[state].items.size() != 5)
      refuse_array("has no state", "a version, a shape, a type, an order and bytes");
    const std::vector<PickleId> items = pickle_[state].items;
    const auto stored = bytes_in(items[4]);
    if (!stored) return;  // a list of Python objects
    const NumpyType type = type_of(items[2]);
    const Shape shape = torch::whole_numbers(pickle_, items[1], "the shape of an array of NumPy");
    KnownArray known{type.torch_name, bytes_of_array(shape, type.bytes), {}, stored->is_text, type.bytes};
    if (stored->node != no_node) {
      found_.data.insert(stored->node);
      known.runs.push_back(file_.place_of(pickle_[stored->node].text));
    }
    check_text(known);
    const bool is_by_columns = pickle_[items[3]].kind == PickleKind::boolean && pickle_[items[3]].number != 0;
    pickle_.change(id) = tensor(known, shape, is_by_columns);
    known_.emplace(id, std::move(known));
  }

  /// A character takes one byte or two.
  static void check_text(const KnownArray& known) {
    if (!known.is_text) return;
    const std::uint64_t stored = known.runs.empty() ? 0 : known.runs.front().size();
    if (stored < known.bytes || stored / 2 > known.bytes)
      refuse_array("has a text of " + std::to_string(stored) + " bytes for " + std::to_string(known.bytes),
                   "that many, or up to twice as many");
  }

  /// Protocols before 3 store _codecs.encode(text, "latin1"), and no bytes as bytes().
  std::optional<StoredBytes> bytes_in(PickleId id) const {
    const PickleNode& node = pickle_[id];
    if (node.kind == PickleKind::bytes) return StoredBytes{id, false};
    // A text of Python 2 is bytes.
    if (node.kind == PickleKind::text && (node.opcode == op::binstring || node.opcode == op::short_binstring))
      return StoredBytes{id, false};
    if (node.kind != PickleKind::call) return std::nullopt;
    const auto& items = arguments(id);
    if (is_builtin(pickle_.name_of(id), "bytes") && items.empty()) return StoredBytes{};
    if (pickle_.name_of(id) != "_codecs.encode" || items.size() != 2 || pickle_[items[0]].kind != PickleKind::text ||
        pickle_[items[1]].text != "latin1")
      refuse_array("has bytes made by " + std::string(pickle_.name_of(id)), "those that NumPy writes");
    return StoredBytes{items[0], true};
  }

  NumpyType type_of(PickleId id) const {
    const bool is_type = pickle_.is_call_of(id, "numpy.dtype") && !arguments(id).empty() &&
                         pickle_[arguments(id).front()].kind == PickleKind::text;
    if (!is_type) refuse_array("has a type that is no numpy.dtype", "one");
    std::string_view order = "|";
    if (const PickleId state = pickle_[id].state; state != no_node) {
      const auto& items = pickle_[state].items;
      if (items.size() > 1 && pickle_[items[1]].kind == PickleKind::text) order = pickle_[items[1]].text;
    }
    return numpy_type(std::string(order) + std::string(pickle_[arguments(id).front()].text), is_of_paddle_);
  }

  /// A scalar is a number, whatever its type was.
  void scalar(PickleId id) {
    const auto& items = arguments(id);
    if (items.size() != 2) return;
    const auto stored = bytes_in(items[1]);
    if (!stored || stored->node == no_node) return;
    const NumpyType type = type_of(items[0]);
    const std::string bytes = small_bytes(*stored);
    const auto format = type.dtype ? number_format(*type.dtype) : std::nullopt;
    if (!format || bytes.size() != type.bytes) return;
    const Value value{*type.dtype, Shape{}, bytes};
    if (!torch::is_held(value)) return;
    pickle_.change(id) = PickleNode(pickle_[torch::add_value(pickle_, value)]);
  }

  std::string small_bytes(const StoredBytes& stored) const {
    const std::string_view text = pickle_[stored.node].text;
    if (!stored.is_text) return std::string(text);
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto first = static_cast<unsigned char>(text[i]);
      const bool is_wide = first >= 0x80 && i + 1 < text.size();
      bytes +=
          is_wide ? static_cast<char>((first & 3U) << 6U | (static_cast<unsigned char>(text[i + 1]) & 0x3fU)) : text[i];
      if (is_wide) ++i;
    }
    return bytes;
  }

  /// A paddle.Tensor in a list or dict: tuple(((its name, array),)).
  void named_tensor(PickleId id) {
    const auto& items = arguments(id);
    if (items.size() != 1) return;
    const PickleNode& pair = pickle_[items.front()];
    if (pair.kind == PickleKind::tuple && pair.items.size() == 2 && pickle_[pair.items[0]].kind == PickleKind::text)
      become(id, pair.items[1]);
  }

  /// A tensor of a static graph: eval("data", {"data": array}). No other expression is taken for one.
  void dense_tensor(PickleId id) {
    const auto& items = arguments(id);
    if (items.size() != 2 || pickle_[items[0]].kind != PickleKind::text || pickle_[items[0]].text != "data") return;
    if (const PickleId data = pickle_.value_of(items[1], "data"); data != no_node) become(id, data);
  }

  void become(PickleId id, PickleId array) {
    const auto known = known_.find(array);
    if (known == known_.end()) return;
    pickle_.change(id) = PickleNode(pickle_[array]);
    known_.emplace(id, known->second);
  }

  PickleId global(std::string_view module, std::string_view name) {
    std::string text = std::string(module) + "." + std::string(name);
    const auto [place, is_new] = globals_.try_emplace(std::move(text), no_node);
    if (is_new) {
      PickleNode node = node_of(PickleKind::global);
      node.text = pickle_.keep(place->first);
      node.number = static_cast<std::int64_t>(module.size());
      place->second = pickle_.add(std::move(node));
    }
    return place->second;
  }

  PickleId tuple(std::vector<PickleId> items) {
    PickleNode node = node_of(PickleKind::tuple);
    node.items = std::move(items);
    return pickle_.add(std::move(node));
  }

  PickleId numbers(const Shape& values) {
    std::vector<PickleId> items;
    for (const std::uint64_t value : values)
      items.push_back(torch::add_integer(pickle_, static_cast<std::int64_t>(value)));
    return tuple(std::move(items));
  }

  /// The storage of an array: a run of the file, or a number beyond its end.
  std::string store(const KnownArray& known) {
    std::string key = std::to_string(found_.storages.size());
    Interval place{0, 0};
    if (known.runs.size() == 1 && !known.is_text) {
      place = known.runs.front();
    } else if (!known.runs.empty()) {
      place = {next_scattered_, checked_add(next_scattered_, known.bytes)};
      found_.scattered.emplace(place.lo, ScatteredBytes{known.runs, known.is_text});
      next_scattered_ = checked_add(place.hi, 1);
    }
    found_.storages.emplace(key, place);
    return key;
  }

  PickleNode tensor(const KnownArray& known, const Shape& shape, bool is_by_columns) {
    const Shape strides = is_by_columns ? column_strides(shape) : row_major_strides(shape);
    const PickleId key = torch::add_text(pickle_, store(known));
    PickleNode storage = node_of(PickleKind::persistent);
    storage.arguments =
        tuple({torch::add_text(pickle_, "storage"), global("torch.storage", "UntypedStorage"), key,
               torch::add_text(pickle_, "cpu"), torch::add_integer(pickle_, static_cast<std::int64_t>(known.bytes))});
    PickleNode no = node_of(PickleKind::boolean);
    const std::size_t dot = known.type.find('.');
    PickleNode made = node_of(PickleKind::call, op::reduce);
    made.function = global("torch._utils", "_rebuild_tensor_v3");
    const PickleId none = pickle_.add(PickleNode{});
    made.arguments =
        tuple({pickle_.add(std::move(storage)), torch::add_integer(pickle_, 0), numbers(shape), numbers(strides),
               pickle_.add(std::move(no)), none,
               global(std::string_view(known.type).substr(0, dot), std::string_view(known.type).substr(dot + 1))});
    return made;
  }

  /// Puts big parameters together again, which protocols before 4 store in pieces.
  void join_big_parameters() {
    const PickleId root = pickle_.root();
    const PickleId info = pickle_.value_of(root, big_parameters);
    if (info == no_node || pickle_[root].kind != PickleKind::dict || pickle_[info].kind != PickleKind::dict) return;
    const std::vector<PickleId> entries = pickle_[info].items;
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2) join(root, entries[i], entries[i + 1]);
    remove(root, big_parameters);
  }

  void join(PickleId root, PickleId key, PickleId entry) {
    KnownArray whole;
    std::string_view first;
    const PickleId slices = pickle_.value_of(entry, "slices");
    const PickleId shape = pickle_.value_of(entry, "OriginShape");
    if (slices == no_node || shape == no_node) refuse_array("is in pieces of which nothing is said", "their names");
    for (const PickleId slice : std::vector<PickleId>(torch::items_in(pickle_, slices, "the pieces of an array"))) {
      const std::string_view name = torch::text_of(pickle_, slice, "the name of an array's piece");
      const auto known = known_.find(pickle_.value_of(root, name));
      if (known == known_.end()) refuse_array("lacks its piece " + std::string(name), "all its pieces");
      const KnownArray& piece = known->second;
      if (first.empty()) {
        first = name;
        whole.type = piece.type;
        whole.is_text = piece.is_text;
        whole.element_bytes = piece.element_bytes;
      }
      if (piece.type != whole.type || piece.is_text != whole.is_text)
        refuse_array("has pieces of several types", "pieces of one");
      whole.bytes = checked_add(whole.bytes, piece.bytes);
      whole.runs.insert(whole.runs.end(), piece.runs.begin(), piece.runs.end());
    }
    if (first.empty()) refuse_array("has no pieces", "one at least");
    const Shape joined = torch::whole_numbers(pickle_, shape, "the shape of an array");
    std::uint64_t stored = whole.is_text ? whole.bytes : 0;
    if (!whole.is_text)
      for (const Interval& run : whole.runs) stored += run.size();
    if (const std::uint64_t expected = bytes_of_array(joined, whole.element_bytes);
        stored != expected || whole.bytes != expected)
      refuse_array("has pieces of " + std::to_string(stored) + " bytes together",
                   std::to_string(expected) + ", by its shape " + to_string(joined));
    const PickleId made = pickle_.add(tensor(whole, joined, false));
    for (const PickleId slice : std::vector<PickleId>(torch::items_in(pickle_, slices, "the pieces of an array")))
      if (pickle_[slice].text != first) remove(root, pickle_[slice].text);
    std::vector<PickleId>& items = pickle_.change(root).items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (pickle_[items[i]].kind == PickleKind::text && pickle_[items[i]].text == first) {
        items[i] = key;
        items[i + 1] = made;
      }
  }

  void remove(PickleId dict, std::string_view key) {
    std::vector<PickleId>& items = pickle_.change(dict).items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (pickle_[items[i]].kind == PickleKind::text && pickle_[items[i]].text == key) {
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(i), items.begin() + static_cast<std::ptrdiff_t>(i + 2));
        return;
      }
  }

  SkimmedPickle& file_;
  Pickle& pickle_;
  std::uint64_t next_scattered_;
  bool is_of_paddle_;
  FoundArrays found_;
  std::map<PickleId, KnownArray> known_;
  std::map<std::string, PickleId> globals_;
};

}  // namespace

FoundArrays arrays_as_tensors(SkimmedPickle& file, std::uint64_t file_bytes, bool is_of_paddle) {
  return Conversion(file, file_bytes, is_of_paddle).run();
}

}  // namespace ckpt::pdparams
