#include "store/orbax/item.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/shell_word.hpp"
#include "io/posix_file.hpp"
#include "io/small_text.hpp"
#include "store/chunked_array.hpp"
#include "store/orbax/tree.hpp"

namespace ckpt::orbax {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t most_metadata_bytes = 1ULL << 30;
constexpr std::uint64_t most_files = 1ULL << 26;

Json json_in(const fs::path& file) {
  const std::string text = small_text(file, most_metadata_bytes, "metadata of Orbax");
  return parse_json(text, file.string(), {Kind::input, "metadata of Orbax", "take another copy of the checkpoint"});
}

bool is_there(const fs::path& file) {
  std::error_code none;
  return fs::is_regular_file(file, none);
}

/// The metadata beside the arrays: names, texts, and keys of random numbers.
class Tree {
 public:
  explicit Tree(const fs::path& directory) {
    try {
      if (is_there(directory / item_metadata)) read_tree(directory / item_metadata);
      if (is_there(directory / item_texts)) read_texts(directory / item_texts);
      std::error_code error;
      for (fs::directory_iterator it(directory / "array_metadatas", error), end; !error && it != end;
           it.increment(error))
        read_random_keys(it->path());
    } catch (const Json::exception& error) {
      throw Error(Kind::input, directory.string(),
                  {"metadata of another form (" + std::string(error.what()) + ")", "Orbax's",
                   "take another copy of the checkpoint"});
    }
  }

  /// Names of the arrays that the tree has, joined by dots.
  std::set<std::string> arrays;
  std::vector<std::pair<std::string, std::string>> texts;
  std::map<std::string, std::string> random_keys;
  std::vector<TreeLeaf> leaves;
  bool leaves_out_zeros = false;  ///< a value that is all zeros may be missing

 private:
  void read_tree(const fs::path& file) {
    const Json json = json_in(file);
    leaves_out_zeros =
        json.contains("store_array_data_equal_to_fill_value") && json["store_array_data_equal_to_fill_value"] == false;
    if (!json.contains("tree_metadata")) return;
    for (const Json& leaf : json["tree_metadata"]) {
      const Json& value = leaf.at("value_metadata");
      TreeLeaf found;
      found.type = value.value("value_type", "");
      found.is_array = !value.value("skip_deserialize", false) && found.type != string_type && found.type != "None";
      for (const Json& key : leaf.at("key_metadata")) {
        const Json& word = key.at("key");
        found.keys.push_back({word.is_string() ? word.get<std::string>() : word.dump(),
                              key.value("key_type", 0U) == 1U ? KeyType::list : KeyType::dict});
      }
      if (found.is_array) arrays.insert(name_of(found));
      leaves.push_back(std::move(found));
    }
  }

  /// A name with slashes is a path of objects.
  static void add_texts(const Json& json, const std::string& above, std::map<std::string, std::string>& found) {
    for (const auto& [name, text] : json.items())
      if (text.is_object())
        add_texts(text, above + name + "/", found);
      else
        found.emplace(above + name, text.get<std::string>());
  }

  void read_texts(const fs::path& file) {
    std::map<std::string, std::string> found;
    add_texts(json_in(file), "", found);
    texts.assign(found.begin(), found.end());
    for (TreeLeaf& leaf : leaves)
      if (const auto text = found.find(name_of(leaf)); leaf.type == string_type && text != found.end())
        leaf.text = text->second;
  }

  void read_random_keys(const fs::path& file) {
    const Json json = json_in(file);
    for (const Json& each : json.at("array_metadatas")) {
      const Json& array = each.at("array_metadata");
      const auto more = array.find("ext_metadata");
      if (more != array.end() && more->is_object() && more->contains("random_key_impl"))
        random_keys.emplace(array.at("param_name"), more->at("random_key_impl"));
    }
  }
};

/// The files below a directory, as a database has them.
KeyValues read_files(const fs::path& directory) {
  KeyValues found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code none;
    if (!it->is_regular_file(none)) continue;
    if (found.files.size() >= most_files)
      throw Error(Kind::input, directory.string(), {"more than 2^26 files", "fewer", ""});
    std::string name = it->path().lexically_relative(directory).string();
    const Place place{static_cast<std::uint32_t>(found.files.size()), 0, it->file_size(none)};
    found.files.push_back(name);
    found.entries.push_back({std::move(name), place});
  }
  if (error) throw Error(Kind::io, directory.string(), {"cannot be listed: " + error.message(), "", ""});
  std::sort(found.entries.begin(), found.entries.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return found;
}

/// Adds an array's values to it: those of its keys that follow `prefix`. Throws input if one is missing.
void add_values(const KeyValues& all, const std::string& prefix, bool leaves_out_zeros, ItemArray& array) {
  auto next = std::lower_bound(all.entries.begin(), all.entries.end(), prefix,
                               [](const KeyValues::Entry& entry, const std::string& key) { return entry.key < key; });
  for (; next != all.entries.end() && next->key.starts_with(prefix); ++next)
    if (const auto number = value_number(array.form, std::string_view(next->key).substr(prefix.size())))
      array.values.push_back({*number, next->place});
  std::sort(array.values.begin(), array.values.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  const std::uint64_t count = value_count(array.form);
  if (array.values.size() == count || (leaves_out_zeros && array.form.has_zero_fill)) return;
  std::uint64_t missing = 0;
  while (missing < array.values.size() && array.values[missing].number == missing) ++missing;
  throw Error(Kind::input, "",
              {"lacks " + std::to_string(count - array.values.size()) + " of its " + std::to_string(count) +
                   " chunks, the first of which is " + value_key(array.form, missing),
               "all",
               "was it copied completely? Copy it again",
               {Advice::What::leave_out, ""}});
}

}  // namespace

const Place* ItemArray::find(std::uint64_t number) const {
  const auto found = std::lower_bound(values.begin(), values.end(), number,
                                      [](const Stored& value, std::uint64_t wanted) { return value.number < wanted; });
  return found != values.end() && found->number == number ? &found->place : nullptr;
}

std::size_t Item::find(std::string_view name) const {
  const auto found =
      std::lower_bound(arrays.begin(), arrays.end(), name,
                       [](const ItemArray& array, std::string_view wanted) { return array.name < wanted; });
  return found != arrays.end() && found->name == name ? static_cast<std::size_t>(found - arrays.begin())
                                                      : arrays.size();
}

bool Item::is_consistent() const {
  const auto is_within = [&](const Place& place) {
    if (place.file != Place::inlined) return place.file < files.size();
    return place.offset <= inlined.size() && place.bytes <= inlined.size() - place.offset;
  };
  return std::all_of(arrays.begin(), arrays.end(), [&](const ItemArray& array) {
    return std::all_of(array.values.begin(), array.values.end(),
                       [&](const ItemArray::Stored& value) { return is_within(value.place); });
  });
}

std::optional<StoredPiece> piece_in(const ItemArray& array, std::uint32_t file) {
  const ZarrArray& form = array.form;
  const ChunkedArray chunks{form.shape, form.chunk(), form.strides, form.dtype.size};
  std::vector<std::pair<Shape, std::uint64_t>> found;  // where chunks begin, in the array and in the file
  StoredPiece piece{{form.shape, Shape(form.shape.size())}, std::numeric_limits<std::uint64_t>::max()};
  bool is_right_size = true;
  for (const ItemArray::Stored& value : array.values) {
    if (value.place.file != file) continue;
    const Shape place = chunk_place(chunks, value.number);
    for (std::size_t d = 0; d < place.size(); ++d) {
      piece.box.lo[d] = std::min(piece.box.lo[d], place[d]);
      piece.box.hi[d] = std::max(piece.box.hi[d], checked_add(place[d], chunks.chunk[d], "a piece"));
    }
    piece.offset = std::min(piece.offset, value.place.offset);
    is_right_size = is_right_size && value.place.bytes == form.chunk_bytes();
    found.emplace_back(place, value.place.offset);
  }
  if (found.empty()) return std::nullopt;
  const Shape strides = row_major_strides(piece.box.shape());
  const bool is_plain = is_right_size && !form.sharding && form.codecs.packing == Packing::none &&
                        !form.codecs.is_summed_inside && form.strides == row_major_strides(form.grid) &&
                        checked_mul(found.size(), numel(chunks.chunk)) == numel(piece.box.shape());
  if (!is_plain || !std::all_of(found.begin(), found.end(), [&](const auto& chunk) {
        return chunk.second - piece.offset == offset_of(chunk.first, piece.box.lo, strides) * form.dtype.size;
      }))
    throw Error(Kind::input, "/" + array.name,
                {"chunks that do not make up one piece in this file", "those that these programs write",
                 "give the checkpoint's directory"});
  return piece;
}

Item read_item(const fs::path& directory) {
  const Tree tree(directory);
  KeyValues all = is_there(directory / ocdbt_manifest) ? read_ocdbt(directory) : read_files(directory);
  Item item;
  item.texts = tree.texts;
  if (!tree.leaves.empty()) item.tree = tree_of(tree.leaves);
  std::set<std::string> missing = tree.arrays;
  for (const KeyValues::Entry& entry : all.entries) {
    const std::size_t slash = entry.key.rfind('/');
    const std::string_view last = std::string_view(entry.key).substr(slash == std::string::npos ? 0 : slash + 1);
    if (slash == std::string::npos || (last != zarr2_metadata && last != zarr3_metadata)) continue;
    ItemArray array{entry.key.substr(0, slash), {}, {}};
    try {
      if (entry.place.bytes > most_json_bytes)
        throw Error(Kind::input, "", {"metadata of more than 1 MiB", "less", "is the checkpoint damaged?"});
      auto form = zarr_array(value_of(directory, all, entry.place));
      if (!form) continue;
      array.form = std::move(*form);
      add_values(all, entry.key.substr(0, slash + 1), tree.leaves_out_zeros, array);
    } catch (const Error& error) {
      if (error.kind() != Kind::input) throw;
      array = {array.name, {}, {}, {}, error};
    }
    if (const auto key = tree.random_keys.find(array.name); key != tree.random_keys.end())
      array.random_key = key->second;
    missing.erase(array.name);
    item.arrays.push_back(std::move(array));
  }
  if (!missing.empty())
    throw Error(Kind::input, directory.string() + ": /" + *missing.begin(),
                {"no such array, which " + std::string(item_metadata) + " names", "",
                 "was the checkpoint copied completely? Copy it again into " + shell_word(directory.string())});
  std::sort(item.arrays.begin(), item.arrays.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(item.arrays.begin(), item.arrays.end(),
                                        [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice != item.arrays.end())
    throw Error(Kind::input, directory.string() + ": /" + twice->name,
                {"is described twice, by zarr 2 and by zarr 3", "once", "take another copy of the checkpoint"});
  item.files = std::move(all.files);
  item.inlined = std::move(all.inlined);
  return item;
}

}  // namespace ckpt::orbax
