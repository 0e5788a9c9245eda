#include "store/orbax/write_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "base/wire.hpp"
#include "store/chunked_array.hpp"
#include "store/number_words.hpp"
#include "store/orbax/item.hpp"
#include "store/orbax/tree.hpp"
#include "store/orbax/write_ocdbt.hpp"
#include "store/orbax/zarr.hpp"

namespace ckpt::orbax {

namespace {

using Json = nlohmann::json;

/// As cache lines are; tensorstore takes any offset.
constexpr std::uint64_t data_alignment = 64;
/// An entry of the one node takes some 60 bytes.
constexpr std::uint64_t most_chunks = 1U << 20;

constexpr const char* node_name = "tree.ocdbt";

/// A piece of an array, as its file's part of the index says it.
struct WrittenPiece {
  std::string name;
  std::string type;  ///< zarr 2's
  std::uint64_t element = 0;
  Shape shape;  ///< of the whole array
  Box box;
  std::uint64_t offset = 0;  ///< of its elements in the file, in row-major order
};

std::string mark_of(const FileSpec::Array& array) {
  const auto found = std::ranges::find(array.attributes, dtype_attribute, &Attribute::name);
  return found == array.attributes.end() ? "" : text_in(found->value).value_or("");
}

std::string checked_type(const FileSpec::Array& array) {
  std::string type = array.verbatim ? "" : zarr2_type(array.dtype, mark_of(array));
  if (type.empty())
    throw Error(Kind::input, "/" + array.name,
                {"elements of type " + array.dtype.name + ", which zarr does not have", "", "",
                 leaving_out({array.name.str()})});
  return type;
}

/// A file's part of the index: its pieces, and the first file's tree.
using FileIndex = std::tuple<std::vector<WrittenPiece>, std::string>;

/// A tensor in its pieces.
struct WrittenArray {
  std::string type;
  std::uint64_t element = 0;
  Shape shape;
  std::vector<std::pair<std::uint32_t, WrittenPiece>> pieces;  ///< by their files
};

/// Returns the largest chunk that divides all pieces, and is a run of bytes in each. A dimension in which pieces differ
/// in size, or begin elsewhere than at multiples of it, is cut by the greatest common divisor; those before it, index
/// by index.
Shape chunk_of(std::size_t rank, const std::vector<Box>& pieces) {
  Shape chunk(rank);
  bool is_run = true;
  for (std::size_t d = rank; d-- > 0;) {
    bool is_whole = true;
    for (const Box& piece : pieces) chunk[d] = std::gcd(std::gcd(chunk[d], piece.lo[d]), piece.hi[d]);
    for (const Box& piece : pieces) is_whole = is_whole && piece[d].size() == chunk[d];
    if (!is_run) chunk[d] = 1;
    is_run = is_run && is_whole;
  }
  return chunk;
}

ZarrArray grid_of(const Shape& shape, const Shape& chunk) {
  ZarrArray grid;
  grid.shape = shape;
  grid.grid = chunk;
  grid.key_separator = ".";
  return grid;
}

/// Puts a text where Orbax looks for it: a name with slashes is a path of objects. Readers refuse JSON that is nested
/// too deeply, so a name with more than 30 slashes stays one key.
void put_text(Json& texts, const std::string& name, const std::string& text) {
  constexpr std::ptrdiff_t most_slashes = 30;
  Json* here = &texts;
  std::string_view rest = name;
  if (std::ranges::count(name, '/') <= most_slashes)
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
      here = &(*here)[std::string(rest.substr(0, slash))];
      if (here->is_string()) return;  // the text of a shorter name is there
      rest.remove_prefix(slash + 1);
    }
  (*here)[std::string(rest)] = text;
}

bool count_from_zero(const std::set<std::string>& keys) {
  return std::ranges::all_of(keys, [&](const std::string& key) {
    const std::uint64_t number = std::strtoull(key.c_str(), nullptr, 10);
    return std::to_string(number) == key && (number == 0 || keys.contains(std::to_string(number - 1)));
  });
}

class Index {
 public:
  void add(const std::vector<IndexedFile>& files) {
    for (const IndexedFile& file : files) {
      auto [pieces, tree] = wire::unpacked<FileIndex>(file.index);
      if (!tree.empty())
        for (TreeLeaf& leaf : leaves_in(tree)) leaves_[name_of(leaf)] = std::move(leaf);
      for (WrittenPiece& piece : pieces) {
        WrittenArray& array = arrays_[piece.name];
        array.type = piece.type;
        array.element = piece.element;
        array.shape = piece.shape;
        array.pieces.emplace_back(static_cast<std::uint32_t>(names_.size()), std::move(piece));
      }
      names_.push_back(file.name);
    }
  }

  std::vector<DirectoryIndex::Text> texts() {
    take_leaves();
    find_lists();
    Json tree = Json::object();
    Json strings = Json::object();
    for (const auto& entry : leaves_) {
      const std::string& name = entry.first;
      const TreeLeaf& leaf = entry.second;
      const Json keys = keys_of(leaf);
      Json value{{"value_type", leaf.type}, {"skip_deserialize", !leaf.is_array && leaf.type != string_type}};
      if (leaf.is_array)
        value["write_shape"] = list(with_context("/" + name, [&] { return add(name, arrays_.at(name)); }));
      if (leaf.type == string_type) put_text(strings, name, leaf.text);
      tree[tuple_text(keys)] = {{"key_metadata", keys}, {"value_metadata", std::move(value)}};
    }
    const Json metadata{{"tree_metadata", std::move(tree)},
                        {"use_ocdbt", true},
                        {"use_zarr3", false},
                        {"store_array_data_equal_to_fill_value", true},
                        {"custom_metadata", nullptr}};
    const Json step{{"item_handlers", item_handler},         {"metrics", Json::object()},
                    {"performance_metrics", Json::object()}, {"init_timestamp_nsecs", 1},
                    {"commit_timestamp_nsecs", 2},           {"custom_metadata", Json::object()}};
    OcdbtTexts database = ocdbt_texts(std::move(entries_), names_, node_name);
    std::vector<DirectoryIndex::Text> texts{{node_name, std::move(database.node)},
                                            {item_metadata, metadata.dump()},
                                            {step_metadata, step.dump()},
                                            {ocdbt_manifest, std::move(database.manifest)}};
    if (!strings.empty()) texts.insert(texts.begin(), {item_texts, strings.dump()});
    return texts;
  }

 private:
  static constexpr const char* item_handler =
      "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler";

  static Json list(const Shape& shape) { return std::vector<std::uint64_t>(shape.begin(), shape.end()); }

  /// Adds the entries of an array; returns its chunk.
  Shape add(const std::string& name, const WrittenArray& array) {
    std::vector<Box> boxes;
    for (const auto& [file, piece] : array.pieces) boxes.push_back(piece.box);
    Shape chunk = chunk_of(array.shape.size(), boxes);
    const Json zarr{{"zarr_format", 2},      {"shape", list(array.shape)}, {"chunks", list(chunk)},
                    {"dtype", array.type},   {"compressor", nullptr},      {"dimension_separator", "."},
                    {"fill_value", nullptr}, {"filters", nullptr},         {"order", "C"}};
    const std::string prefix = name + "/";
    entries_.push_back({prefix + std::string(zarr2_metadata), zarr.dump(), std::nullopt, 0, 0});
    const std::uint64_t bytes = checked_mul(numel(chunk), array.element);
    const ZarrArray grid = grid_of(array.shape, chunk);
    for (const auto& each : array.pieces) {
      const std::uint32_t file = each.first;
      const WrittenPiece& piece = each.second;
      const Shape within = row_major_strides(piece.box.shape());
      for_each_chunk(piece.box, chunk, [&](const Shape& place, const Box&) {
        const std::uint64_t number = chunk_number({array.shape, chunk, {}, 0}, place);
        const std::uint64_t offset = piece.offset + offset_of(place, piece.box.lo, within) * array.element;
        entries_.push_back({prefix + value_key(grid, number), "", file, offset, bytes});
      });
    }
    return chunk;
  }

  /// A leaf for each array: the source's, or one of its own. The source's arrays that are not written have none.
  void take_leaves() {
    std::erase_if(leaves_, [&](const auto& each) { return each.second.is_array && !arrays_.contains(each.first); });
    for (const auto& [name, array] : arrays_) {
      const auto [found, is_new] = leaves_.try_emplace(name, leaf_named(name));
      // On a mesh of its own, a reader without shardings restores NumPy's arrays, but none of JAX.
      if (found->second.type != scalar_type) found->second.type = "np.ndarray";
      found->second.is_array = true;
    }
  }

  /// Keys that count from 0 are those of a list, unless the source says that they are not.
  void find_lists() {
    std::set<std::vector<std::string>> dicts;
    std::map<std::vector<std::string>, std::set<std::string>> keys_in;  // by the keys of a container
    for (const auto& [name, leaf] : leaves_) {
      std::vector<std::string> container;
      for (const TreeKey& key : leaf.keys) {
        keys_in[container].insert(key.key);
        if (key.type == KeyType::dict) dicts.insert(container);
        container.push_back(key.key);
      }
    }
    for (auto& [container, keys] : keys_in)
      if (count_from_zero(keys) && !dicts.contains(container)) lists_.insert(container);
  }

  Json keys_of(const TreeLeaf& leaf) const {
    Json keys = Json::array();
    std::vector<std::string> container;
    for (const TreeKey& key : leaf.keys) {
      const KeyType type = lists_.contains(container) ? KeyType::list : KeyType::dict;
      keys.push_back({{"key", key.key}, {"key_type", static_cast<unsigned>(type)}});
      container.push_back(key.key);
    }
    return keys;
  }

  /// Python's text of the tuple of keys: "('params', 'w')", "('step',)".
  static std::string tuple_text(const Json& keys) {
    std::string text;
    std::size_t count = 0;
    for (const Json& each : keys) {
      std::string key;
      for (const char c : each["key"].get<std::string>()) key.append(c == '\'' || c == '\\' ? "\\" : "").push_back(c);
      text.append(count++ == 0 ? "'" : ", '").append(key).append("'");
    }
    return "(" + text + (count == 1 ? ",)" : ")");
  }

  std::vector<std::string> names_;
  std::map<std::string, WrittenArray> arrays_;
  std::map<std::string, TreeLeaf> leaves_;    // by name
  std::set<std::vector<std::string>> lists_;  // their keys
  std::vector<WrittenEntry> entries_;
};

}  // namespace

NewFile form_of(const FileSpec& spec) {
  NewFile made;
  std::vector<WrittenPiece> pieces;
  std::uint64_t end = 0;
  for (const FileSpec::Array& array : spec.arrays) {
    WrittenPiece piece{array.name.str(),
                       checked_type(array),
                       array.dtype.size,
                       Shape(array.global_shape.value_or(array.shape)),
                       {},
                       0};
    piece.box.lo = array.origin.value_or(Shape(array.shape.size()));
    piece.box.hi = piece.box.lo;
    for (std::size_t d = 0; d < piece.box.rank(); ++d) piece.box.hi[d] += array.shape[d];
    made.room.data.emplace_back();
    if (piece.box.empty()) continue;
    const std::uint64_t bytes = checked_mul(numel(array.shape), array.dtype.size, "a tensor");
    piece.offset = round_up(end, data_alignment, "a file");
    end = checked_add(piece.offset, bytes, "a file");
    made.room.data.back() = FileExtents(piece.offset, bytes);
    pieces.push_back(std::move(piece));
  }
  made.room.bytes = end;
  made.room.index = wire::packed(pieces, spec.tree ? *spec.tree : std::string());
  return made;
}

std::vector<std::string> losses(const FileSpec& spec) {
  std::vector<std::string> lost;
  for (const Attribute& attribute : spec.attributes) lost.push_back("attribute " + attribute.name);
  for (const Group& group : spec.groups)
    if (!group.attributes.empty()) lost.push_back("attributes of " + group.path);
  FileSpec unmarked = spec;
  for (FileSpec::Array& array : unmarked.arrays) {
    const std::string mark = mark_of(array);
    if (checked_type(array) == mark && !mark.empty())
      std::erase_if(array.attributes, [](const Attribute& each) { return each.name == dtype_attribute; });
  }
  if (auto attributes = lost_attributes_of_arrays(unmarked); !attributes.empty()) lost.push_back(std::move(attributes));
  return lost;
}

std::string tensor_name(const std::string& name) {
  std::string dotted = name;
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  return dotted;
}

std::vector<std::string_view> companions() {
  return {node_name, item_metadata, step_metadata, item_texts};
}

void check_names(const std::vector<std::string>& datasets) {
  for (const std::string& name : datasets)
    if (name.empty() || !is_utf8(name) || name.find('\0') != std::string::npos)
      throw Error(Kind::input, "tensor name \"" + name + '"',
                  {"it is empty, no UTF-8, or has a zero byte",
                   "keys joined by dots, as Orbax has them",
                   "",
                   {Advice::What::rename, ""}});
}

void check_tensors(const std::vector<IndexedTensor>& tensors) {
  std::set<std::string> names;
  for (const IndexedTensor& tensor : tensors) names.insert(tensor.name);
  std::uint64_t entries = 0;
  for (const IndexedTensor& tensor : tensors) {
    const std::string& name = tensor.name;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      if (names.contains(name.substr(0, dot)))
        throw Error(Kind::input, "tensor name \"" + name + '"',
                    {"it begins with that of a tensor, " + name.substr(0, dot),
                     "a name that is no key of dicts at the same time",
                     "",
                     {Advice::What::rename, ""}});
    if (tensor.pieces.empty() || numel(tensor.shape) == 0) continue;
    const Shape chunk = chunk_of(tensor.shape.size(), tensor.pieces);
    const std::uint64_t chunks = value_count(grid_of(tensor.shape, chunk));
    if (chunks > most_chunks - std::min(entries, most_chunks))
      throw Error(Kind::input, "/" + name,
                  {"is cut unevenly: " + std::to_string(chunks) + " chunks of " + to_string(chunk),
                   "at most " + std::to_string(most_chunks) + " chunks in all, since zarr's are all of one shape",
                   R"(let all pieces but the last be of one size: "uneven": "ceil", or --uneven ceil where the rules )"
                   "do not say it"});
    entries += chunks + 1;
  }
}

std::vector<DirectoryIndex::Text> index_texts(const std::vector<IndexedFile>& files) {
  Index index;
  index.add(files);
  return index.texts();
}

}  // namespace ckpt::orbax
