#include "frameworks/piece_files.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "store/catalog.hpp"

namespace ckpt {

namespace {

/// What a slot has that its file lacks: nothing.
FileCatalog empty_catalog(const FileCatalog& like) {
  Schema schema;
  schema.format = like.schema->format;
  schema.arrays = std::make_shared<const std::vector<StoredArray>>();
  return {std::make_shared<const Schema>(std::move(schema)), like.bytes, like.modified_ns};
}

}  // namespace

PieceFiles::PieceFiles(std::vector<std::string> names, std::vector<std::uint32_t> slots, const std::string& metadata)
    : names_(std::move(names)),
      slots_(std::move(slots)),
      most_slots_(slots_.empty() ? 1 : *std::max_element(slots_.begin(), slots_.end())) {
  if (names_.empty())
    throw Error(Kind::input, metadata,
                {"names no file", "files with data", "was an empty state saved? Take another checkpoint"});
  if (names_.size() > max_cards / most_slots_)
    throw Error(Kind::input, metadata,
                {std::to_string(names_.size()) + " files that hold up to " + std::to_string(most_slots_) +
                     " pieces of one tensor each",
                 "at most " + std::to_string(max_cards) + " files times pieces, as many as a layout has cards",
                 "load it with its framework, and save it from fewer processes"});
}

Mesh PieceFiles::mesh() const {
  if (most_slots_ == 1) return {{"card"}, {names_.size()}, {}};
  return {{"card", "chunk"}, {names_.size(), most_slots_}, {}};
}

std::string PieceFiles::slot_name(std::uint32_t file, std::uint32_t slot) const {
  return names_[file] + (slot == 0 ? "" : "#" + std::to_string(slot));
}

/// The template if it describes all files; else each path.
CardFiles PieceFiles::files(const std::string& usual) const {
  const Mesh cards = mesh();
  if (most_slots_ == 1 && !usual.empty()) {
    FileTemplate as_usual(usual, cards);
    bool is_usual = true;
    for (std::uint32_t file = 0; file < names_.size(); ++file)
      is_usual = is_usual && names_[file] == as_usual.path(cards, file);
    if (is_usual) return CardFiles({{std::move(as_usual), ""}});
  }
  FileTemplate::ByCard paths;
  for (std::uint32_t file = 0; file < names_.size(); ++file)
    for (std::uint32_t slot = 0; slot < most_slots_; ++slot) paths.emplace(card(file, slot), slot_name(file, slot));
  return CardFiles({{FileTemplate(std::move(paths), cards), ""}});
}

DirectoryDescription PieceFiles::described(const std::vector<CutTensor>& tensors, const Source& source,
                                           const std::function<std::vector<FileCatalog>()>& read) const {
  DirectoryDescription described;
  described.layout = with_file(source.metadata, [&] { return layout_of(tensors, mesh(), source.origin); });
  described.layout.files = files(source.usual);
  described.elsewhere = layout_elsewhere(tensors, names_.size(), source.origin, source.elsewhere);
  std::vector<FileCatalog> catalogs = read();
  auto next = catalogs.begin();
  for (std::uint32_t file = 0; file < names_.size(); ++file) {
    const FileCatalog first = *next;
    for (std::uint32_t slot = 0; slot < most_slots_; ++slot)
      described.files.push_back(
          {slot_name(file, slot), names_[file], slot < slots_[file] ? std::move(*next++) : empty_catalog(first)});
  }
  return described;
}

FileCatalog under_name(const FileCatalog& catalog, const std::string& name) {
  auto schema = std::make_shared<Schema>();
  schema->format = catalog.schema->format;
  schema->datasets = catalog.schema->datasets;
  StoredArray array = catalog.schema->arrays->front();
  array.name = name;
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::vector{std::move(array)});
  return {std::move(schema), catalog.bytes, catalog.modified_ns};
}

DirectoryDescription described_whole(std::vector<std::string> names, std::vector<FileCatalog> catalogs,
                                     const std::string& metadata, const std::string& origin) {
  std::map<std::string, CutTensor> tensors;
  for (std::size_t file = 0; file < catalogs.size(); ++file)
    for (const StoredArray& array : *catalogs[file].schema->arrays) {
      const Shape shape(array.shape);
      CutTensor& tensor = tensors.try_emplace(array.name, CutTensor{array.name, shape, {}}).first->second;
      tensor.held.push_back({file, whole(shape)});
    }
  std::vector<CutTensor> all;
  for (auto& [name, tensor] : tensors) all.push_back(std::move(tensor));
  const std::size_t count = names.size();
  const PieceFiles files(std::move(names), std::vector<std::uint32_t>(count, 1), metadata);
  return files.described(all, {.metadata = metadata, .origin = origin}, [&] { return std::move(catalogs); });
}

}  // namespace ckpt
