#include "frameworks/torch_checkpointing.hpp"

#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "frameworks/piece_files.hpp"
#include "frameworks/rank_files.hpp"
#include "store/catalog.hpp"
#include "store/torch/placed_items.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;
using torch::PlacedItem;
using torch::PlacedTensor;

constexpr const char* items_metadata = "metadata.pkl";

using Pieces = std::map<std::string, std::pair<const PlacedTensor*, Piece>>;

Pieces pieces_of_rank(const PlacedItem& item, std::uint64_t rank) {
  Pieces pieces;
  for (const PlacedTensor& tensor : item.tensors)
    if (auto piece = torch::piece_of_rank(tensor, rank)) pieces.try_emplace(tensor.name, &tensor, std::move(*piece));
  return pieces;
}

/// The file's catalog with what the metadata say of its tensors.
FileCatalog with_pieces(const FileCatalog& catalog, const Pieces& pieces) {
  Schema schema = *catalog.schema;
  auto arrays = *schema.arrays;
  for (const auto& [name, placed] : pieces) {
    const std::size_t index = schema.find(name);
    if (index == arrays.size())
      throw Error(Kind::input, "/" + name,
                  {std::string("not in this file, where ") + items_metadata + " says it is", "",
                   "are the files those of one save?"});
    if (arrays[index].shape.size() != placed.first->shape.size())
      throw Error(Kind::input, "/" + name,
                  {"is " + to_string(arrays[index].shape), "a piece of " + to_string(placed.first->shape),
                   "are the files those of one save?"});
    arrays[index].global_shape = placed.first->shape;
    schema.datasets[index].piece = placed.second;
  }
  schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return {std::make_shared<const Schema>(std::move(schema)), catalog.bytes, catalog.modified_ns};
}

}  // namespace

bool is_torch_checkpointing(const fs::path& directory) {
  std::error_code none;
  if (!fs::is_regular_file(directory / items_metadata, none)) return false;
  bool has_safetensors = false;
  for (fs::recursive_directory_iterator it(directory, none), end; !none && !has_safetensors && it != end;
       it.increment(none))
    has_safetensors = it->path().extension() == ".safetensors";
  return has_safetensors && torch::begins_as_placed_items(directory / items_metadata);
}

DirectoryDescription describe_torch_checkpointing(const fs::path& directory, SourceStore& store) {
  const std::vector<PlacedItem> items = torch::read_placed_items(directory / items_metadata);
  std::vector<std::string> names;
  std::vector<FileCatalog> catalogs;
  for (const PlacedItem& item : items)
    for (std::uint64_t rank = 0; rank < item.files.size(); ++rank) {
      if (item.files[rank].empty()) continue;
      names.push_back(item.files[rank]);
      const fs::path path = directory / names.back();
      std::error_code error;
      if (!fs::exists(path, error))
        throw Error(Kind::input, path.string(),
                    {std::string("no such file, which ") + items_metadata + " names", "",
                     "copy it into " + shell_word(directory.string())});
      const FileCatalog catalog = store.catalog(path);
      catalogs.push_back(with_file(path.string(), [&] { return with_pieces(catalog, pieces_of_rank(item, rank)); }));
    }
  const std::string origin = "what " + directory.string() + " says of itself";
  auto described = describe_rank_files(names, catalogs, origin);
  if (!described)  // one rank, which has everything
    return described_whole(std::move(names), std::move(catalogs), (directory / items_metadata).string(), origin);
  for (std::size_t i = 0; i < names.size(); ++i)
    described->files.push_back({names[i], names[i], std::move(catalogs[i])});
  return std::move(*described);
}

}  // namespace ckpt
