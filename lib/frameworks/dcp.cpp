#include "frameworks/dcp.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "frameworks/cut_rules.hpp"
#include "frameworks/piece_files.hpp"
#include "io/posix_file.hpp"
#include "io/small_text.hpp"
#include "store/catalog.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/likely_content.hpp"
#include "store/pickle/opaque.hpp"

namespace ckpt {

namespace {

std::vector<Attribute> merged_attributes(const std::vector<Attribute>& own, const std::vector<Attribute>& other) {
  std::map<std::string, Value> values;
  for (const auto* list : {&own, &other})
    for (const Attribute& attribute : *list) values.emplace(attribute.name, attribute.value);
  std::vector<Attribute> merged;
  merged.reserve(values.size());
  for (auto& [name, value] : values) merged.push_back({name, std::move(value)});
  return merged;
}

/// A schema with another one's attributes added to its own; for equal names its own count.
std::shared_ptr<const Schema> with_attributes_of(const Schema& schema, const Schema& other) {
  Schema merged = schema;
  merged.attributes = merged_attributes(schema.attributes, other.attributes);
  std::map<std::string, std::vector<Attribute>> groups;
  for (const Group& group : schema.groups) groups.emplace(group.path, group.attributes);
  for (const Group& group : other.groups) {
    const auto [known, is_new] = groups.emplace(group.path, group.attributes);
    if (!is_new) known->second = merged_attributes(known->second, group.attributes);
  }
  merged.groups.clear();
  for (auto& [path, attributes] : groups) merged.groups.push_back({path, std::move(attributes)});
  return std::make_shared<const Schema>(std::move(merged));
}

/// A schema with these leaves instead of its own.
std::shared_ptr<const Schema> with_leaves(const Schema& schema, std::vector<Leaf> leaves) {
  Schema made = schema;
  made.leaves = std::move(leaves);
  return std::make_shared<const Schema>(std::move(made));
}

namespace fs = std::filesystem;

constexpr const char* metadata_file = torch::dcp_index;
constexpr std::string_view data_ending = torch::dcp_ending;
constexpr const char* common_file = torch::torch_dist_tree;
constexpr const char* finished_file = torch_dist_finished;
constexpr std::uint64_t most_finished_bytes = 1ULL << 20;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool has_data_file(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == data_ending) return true;
  return false;
}

/// In a save without collectives each rank writes `__3.metadata` after its own files `__3_0.distcp`. Returns an error
/// that names the ranks if a rank's metadata is missing or the ranks' numbers have a gap.
std::optional<Error> unfinished_ranks(const fs::path& directory) {
  static const std::regex form(R"(__(\d{1,9})(?:_\d+\.distcp|\.metadata))");
  std::map<std::uint64_t, bool> ranks;  // rank to whether it has its metadata
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::smatch number;
    if (!std::regex_match(name, number, form)) continue;
    bool& is_finished = ranks[std::stoull(number[1])];
    is_finished = is_finished || !name.ends_with(data_ending);
  }
  std::vector<std::string> missing;
  constexpr std::size_t most = 8;
  for (std::uint64_t rank = 0; !ranks.empty() && rank <= ranks.rbegin()->first && missing.size() < most; ++rank)
    if (const auto found = ranks.find(rank); found == ranks.end() || !found->second)
      missing.push_back("__" + std::to_string(rank) + metadata_file);
  if (missing.empty()) return std::nullopt;
  return Error(Kind::input, directory.string(),
               {"a checkpoint that was saved without collectives, and has no " + join(missing), "one for each rank",
                "copy them from where these ranks have saved, or take another checkpoint"});
}

/// The error of a directory whose save did not end; nothing if it did.
std::optional<Error> unfinished(const fs::path& directory) {
  const auto refuse = [&](const std::string& found, const std::string& remedy) {
    return Error(Kind::input, directory.string(), {found, "it beside them", remedy});
  };
  if (!is_there(directory / metadata_file) && !torch::dcp_metadata_files(directory).empty()) {
    if (auto error = unfinished_ranks(directory)) return error;
  } else if (!is_there(directory / metadata_file)) {
    return refuse(
        "it has .distcp files and no .metadata, without which nobody can read them",
        "copy that file, too (cp DIR/* and others leave out names that begin with a dot); torch writes it last, so "
        "that where it never was the save did not end");
  }
  if (is_there(directory / common_file) && !is_there(directory / finished_file))
    return refuse(std::string("it has ") + common_file + " and no " + finished_file,
                  "copy that file, too; Megatron writes it last, so that where it never was the save did not end");
  return std::nullopt;
}

/// For "__3_0.distcp", the name that torch gives to a file of rank 3: " (of rank 3)".
std::string rank_in(const std::string& name) {
  const std::size_t end = name.starts_with("__") ? name.find('_', 2) : std::string::npos;
  const std::string rank = end == std::string::npos ? "" : name.substr(2, end - 2);
  return rank.empty() || rank.find_first_not_of("0123456789") != std::string::npos ? "" : " (of rank " + rank + ")";
}

/// Reads files, some of which are pickles. If that fails, first reports a file that is something else than its name
/// says.
template <class Work>
decltype(auto) reading(const std::vector<fs::path>& files, const std::string& expected, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != Kind::input) throw;
    for (const fs::path& file : files)
      if (auto other = unlike(file, expected); other && !likely_content(file).is_pickle) throw std::move(*other);
    throw;
  }
}

torch::DcpMetadata read_metadata(const fs::path& directory) {
  return reading(torch::dcp_metadata_files(directory), "what torch.distributed.checkpoint says of its files",
                 [&] { return torch::read_dcp_metadata(directory); });
}

class DcpDescription {
 public:
  DcpDescription(const fs::path& directory, SourceStore& store)
      : directory_(directory),
        store_(store),
        metadata_(read_metadata(directory)),
        files_(metadata_.files, torch::dcp_slots(metadata_), metadata_name()) {}

  DirectoryDescription describe() {
    const std::string origin = "what " + directory_.string() + " says of itself";
    described_ = files_.described(cut_tensors(), {metadata_name(), origin, "__{card}_0" + std::string(data_ending)},
                                  [this] { return catalogs(); });
    add_common();
    return std::move(described_);
  }

 private:
  /// The name in messages: the directory, if the metadata is in several files.
  std::string metadata_name() const {
    const fs::path one = directory_ / metadata_file;
    return is_there(one) ? one.string() : directory_.string();
  }

  std::vector<CutTensor> cut_tensors() const {
    std::vector<CutTensor> tensors;
    tensors.reserve(metadata_.tensors.size());
    for (const torch::DcpTensor& tensor : metadata_.tensors) {
      CutTensor cut{tensor.name, tensor.shape, {}};
      for (const torch::DcpChunk& chunk : tensor.chunks)
        cut.held.push_back({files_.card(chunk.file, chunk.slot), chunk.box});
      tensors.push_back(std::move(cut));
    }
    return tensors;
  }

  std::vector<FileCatalog> catalogs() const {
    for (const std::string& name : metadata_.files) check_there(name);
    std::vector<fs::path> paths;
    for (const std::string& name : metadata_.files) paths.push_back(directory_ / name);
    std::vector<FileCatalog> catalogs = reading(paths, "data of torch.distributed.checkpoint",
                                                [&] { return torch::read_dcp_catalogs(directory_, metadata_); });
    gather_leaves(catalogs);
    return catalogs;
  }

  void check_there(const std::string& name) const {
    if (is_there(directory_ / name)) return;
    throw Error(Kind::input, (directory_ / name).string(),
                {"no such file" + rank_in(name) + ", which " + std::string(metadata_file) + " names", "",
                 "copy it into " + shell_word(directory_.string())});
  }

  /// The first file represents the directory: its tree holds the leaves of all.
  void gather_leaves(std::vector<FileCatalog>& catalogs) const {
    std::vector<Leaf> leaves;
    for (FileCatalog& each : catalogs) {
      leaves.insert(leaves.end(), each.schema->leaves.begin(), each.schema->leaves.end());
      if (!each.schema->leaves.empty()) each.schema = with_leaves(*each.schema, {});
    }
    Schema first = *catalogs.front().schema;
    first.leaves = std::move(leaves);
    first.has_tree = true;
    first.tree_names = tree_names();
    catalogs.front().schema = std::make_shared<const Schema>(std::move(first));
  }

  std::map<std::string, std::string> tree_names() const {
    std::map<std::string, std::string> names;
    for (const torch::DcpTensor& tensor : metadata_.tensors)
      if (std::string name = torch::tree_name(tensor.path); name != tensor.name)
        names.emplace_hint(names.end(), tensor.name, std::move(name));
    return names;
  }

  /// Adds what Megatron keeps beside the data: to the attributes and leaves of the first file, and unchanged for
  /// another directory of the same form.
  void add_common() {
    if (!is_there(directory_ / common_file)) return;
    const FileCatalog common = store_.catalog(directory_ / common_file);
    for (const StoredArray& array : *common.schema->arrays)
      described_.left_out.push_back(array.name + " (a tensor of " + common_file + ")");
    FileCatalog& first = described_.files.front().catalog;
    first.schema = with_attributes_of(*first.schema, *common.schema);
    std::vector<Leaf> leaves = first.schema->leaves;
    std::vector<std::string> names;
    for (Leaf leaf : common.schema->leaves) {
      leaf.is_carried = false;
      names.push_back(leaf.name);
      leaves.push_back(std::move(leaf));
    }
    first.schema = with_leaves(*first.schema, std::move(leaves));
    if (common.bytes > torch::most_object_bytes()) {
      described_.left_out.push_back(std::string(common_file) + " (" + format_bytes(common.bytes) + ")");
      return;
    }
    described_.sidecars.push_back(
        {common_file,
         small_text(directory_ / common_file, torch::most_object_bytes(), "what Megatron keeps beside data"),
         std::move(names)});
    described_.sidecars.push_back(
        {finished_file, small_text(directory_ / finished_file, most_finished_bytes, "Megatron's few words of JSON")});
  }

  fs::path directory_;
  SourceStore& store_;
  torch::DcpMetadata metadata_;
  PieceFiles files_;
  DirectoryDescription described_;
};

}  // namespace

bool is_dcp(const fs::path& directory) {
  return has_data_file(directory);
}

bool is_unfinished_dcp(const fs::path& directory) {
  return is_dcp(directory) && unfinished(directory);
}

std::vector<std::string> dcp_sidecar_names(const Layout& layout) {
  const std::vector<std::string> paths = layout.files.paths(layout.mesh);
  const bool is_meant =
      std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return path.ends_with(data_ending); });
  return is_meant ? std::vector<std::string>{common_file, finished_file} : std::vector<std::string>{};
}

DirectoryDescription describe_dcp(const fs::path& directory, SourceStore& store) {
  if (auto error = unfinished(directory)) throw std::move(*error);
  return DcpDescription(directory, store).describe();
}

}  // namespace ckpt
