#include "frameworks/mindformers.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "frameworks/dist_files.hpp"
#include "frameworks/latest_iteration.hpp"
#include "io/small_text.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* metadata_name = "metadata.json";
constexpr const char* expected_text = "what MindFormers says of its files";
constexpr const char* tensors_key = "state_dict_metadata";
constexpr std::uint64_t most_text_bytes = 1U << 30;
constexpr std::size_t most_values = std::size_t{1} << 26;

[[noreturn]] void refuse_pieces(const std::string& object, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, object, {found, expected, "is the file damaged, or of another version of MindFormers?"});
}

const Json& need(const Json& object, const char* key, std::string_view name) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end())
    refuse_pieces(std::string(name), std::string("has no ") + key, "one");
  return *found;
}

Shape numbers_in(const Json& object, const char* key, const std::string& name) {
  Shape numbers;
  const Json& list = need(object, key, name);
  const bool is_list = list.is_array() && std::all_of(list.begin(), list.end(),
                                                      [](const Json& each) { return each.is_number_unsigned(); });
  if (!is_list) refuse_pieces(name, std::string("has the ") + key + " " + list.dump(), "a list of whole numbers");
  for (const Json& each : list) numbers.push_back(each.get<std::uint64_t>());
  return numbers;
}

/// As Python's repr shows a text of printable characters.
std::string python_text(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string shown(1, quote);
  for (const char c : text) {
    if (c == '\\' || c == quote) shown += '\\';
    shown += c;
  }
  return shown + quote;
}

/// The key of a piece in storage_data: a name and the piece's first index.
std::string piece_key(const std::string& name, const Shape& lo) {
  std::vector<std::string> numbers;
  for (const std::uint64_t number : lo) numbers.push_back(std::to_string(number));
  return "(" + python_text(name) + ", (" + join(numbers, numbers.size()) + (numbers.size() == 1 ? ",))" : "))");
}

bool is_bare_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string("/\0", 2)) == std::string::npos;
}

class MetadataReader {
 public:
  explicit MetadataReader(const Json& json)
      : tensors_(need(json, tensors_key, "")), storage_(need(json, "storage_data", "")) {
    if (!tensors_.is_object() || !storage_.is_object()) refuse_pieces("", "no objects of tensors and files", "both");
  }

  DistMetadata read() {
    for (const auto& [name, said] : tensors_.items()) {
      DistTensor tensor{name, "", numbers_in(said, "global_shape", name), {}};
      for (const Json& chunk : need(said, "chunk", name)) add_piece(tensor, chunk);
      metadata_.tensors.push_back(std::move(tensor));
    }
    number_files();
    return std::move(metadata_);
  }

 private:
  void add_piece(DistTensor& tensor, const Json& chunk) {
    const Shape lo = numbers_in(chunk, "global_offset", tensor.name);
    const Shape sizes = numbers_in(chunk, "local_shape", tensor.name);
    if (lo.size() != tensor.shape.size() || sizes.size() != tensor.shape.size())
      refuse_pieces(tensor.name, "has a piece of " + to_string(sizes) + " at " + to_string(lo),
                    "one of " + std::to_string(tensor.shape.size()) + " dimensions");
    DistPiece piece{{lo, lo}, {}, {}};
    for (std::size_t d = 0; d < lo.size(); ++d) piece.box.hi[d] = checked_add(lo[d], sizes[d], "a piece's end");
    if (!contains(whole(tensor.shape), piece.box))
      refuse_pieces(tensor.name, "has the piece " + to_string(piece.box), "one within " + to_string(tensor.shape));
    const auto places = storage_.find(piece_key(tensor.name, lo));
    if (places == storage_.end() || !places->is_array() || places->empty())
      refuse_pieces(tensor.name, "has the piece " + to_string(piece.box) + " in no file",
                    "storage_data to have " + piece_key(tensor.name, lo));
    for (const Json& place : *places)
      piece.files.push_back(file_of(need(place, "file_name", tensor.name), tensor.name));
    tensor.pieces.push_back(std::move(piece));
  }

  /// A preliminary number, in the order in which files are met.
  std::uint32_t file_of(const Json& said, const std::string& tensor) {
    if (!said.is_string() || !is_bare_name(said.get_ref<const std::string&>()))
      refuse_pieces(tensor, "is in the file " + said.dump(), "one of the directory");
    const auto next = static_cast<std::uint32_t>(metadata_.files.size());
    const auto [found, is_new] = numbers_.try_emplace(said.get<std::string>(), next);
    if (is_new) metadata_.files.push_back(found->first);
    return found->second;
  }

  /// Numbers the files in natural order.
  void number_files() {
    std::sort(metadata_.files.begin(), metadata_.files.end(), natural_less);
    std::vector<std::uint32_t> sorted(metadata_.files.size());
    for (std::uint32_t i = 0; i < sorted.size(); ++i) sorted[numbers_.at(metadata_.files[i])] = i;
    for (DistTensor& tensor : metadata_.tensors)
      for (DistPiece& piece : tensor.pieces) {
        for (std::uint32_t& file : piece.files) file = sorted[file];
        std::sort(piece.files.begin(), piece.files.end());
        piece.files.erase(std::unique(piece.files.begin(), piece.files.end()), piece.files.end());
      }
  }

  const Json& tensors_;
  const Json& storage_;
  DistMetadata metadata_;
  std::map<std::string, std::uint32_t> numbers_;  // of files
};

/// Megatron's file of this name is a short object of other keys.
bool has_metadata(const fs::path& directory) {
  std::string begin(64, '\0');
  std::ifstream file(directory / metadata_name, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find(std::string("\"") + tensors_key + "\"") != std::string::npos;
}

std::string named_folder(const fs::path& run) {
  constexpr std::size_t digits = 8;
  return latest_iteration(run, "iteration_", digits);
}

}  // namespace

DistMetadata parse_mindformers(const std::string& text, const std::string& origin) {
  const Json json = parse_json(text, origin, {Kind::input, expected_text, "", 32, most_values});
  return with_file(origin, [&] { return MetadataReader(json).read(); });
}

bool is_mindformers(const fs::path& directory) {
  return has_metadata(directory) || has_metadata(directory / named_folder(directory));
}

DirectoryDescription describe_mindformers(const fs::path& directory, SourceStore& store) {
  if (!has_metadata(directory)) {
    const std::string folder = named_folder(directory);
    return described_in(folder, describe_mindformers(directory / folder, store));
  }
  const fs::path path = directory / metadata_name;
  const DistMetadata metadata = parse_mindformers(small_text(path, most_text_bytes, expected_text), path.string());
  // The files also hold counters of the training.
  return describe_dist_files({path, "", "are the files those of one save?", true}, metadata, store);
}

}  // namespace ckpt
