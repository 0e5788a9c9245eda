#include "frameworks/piece_files.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"

namespace ckpt {

namespace {

/// The schema of an empty file.
std::shared_ptr<const Schema> empty_schema(const std::string& format) {
  Schema schema;
  schema.format = format;
  schema.arrays = std::make_shared<const std::vector<StoredArray>>();
  return std::make_shared<const Schema>(std::move(schema));
}

}  // namespace

PieceFiles::PieceFiles(std::vector<std::string> paths, const std::vector<std::uint32_t>& slots,
                       const std::string& object, const std::string& remedy)
    : paths_(std::move(paths)),
      slots_(slots),
      most_slots_(slots.empty() ? 1 : *std::max_element(slots.begin(), slots.end())) {
  if (paths_.size() <= max_cards / most_slots_) return;
  throw Error(Kind::input, object,
              {std::to_string(paths_.size()) + " files that hold up to " + std::to_string(most_slots_) +
                   " pieces of one tensor each",
               "at most " + std::to_string(max_cards) + " files times pieces, as many as a layout has cards", remedy});
}

Mesh PieceFiles::mesh() const {
  if (most_slots_ == 1) return {{"card"}, {paths_.size()}, {}};
  return {{"card", "chunk"}, {paths_.size(), most_slots_}, {}};
}

std::string PieceFiles::name(std::uint32_t file, std::uint32_t slot) const {
  return paths_[file] + (slot == 0 ? "" : "#" + std::to_string(slot));
}

CardFiles PieceFiles::files(const std::string& usual) const {
  const Mesh cards = mesh();
  if (most_slots_ == 1 && !usual.empty()) {
    FileTemplate as_usual(usual, cards);
    bool is_usual = true;
    for (std::uint32_t file = 0; file < paths_.size(); ++file)
      is_usual = is_usual && paths_[file] == as_usual.path(cards, file);
    if (is_usual) return CardFiles({{std::move(as_usual), ""}});
  }
  FileTemplate::ByCard paths;
  for (std::uint32_t file = 0; file < paths_.size(); ++file)
    for (std::uint32_t slot = 0; slot < most_slots_; ++slot) paths.emplace(card(file, slot), name(file, slot));
  return CardFiles({{FileTemplate(std::move(paths), cards), ""}});
}

std::vector<DescribedFile> PieceFiles::described(std::vector<FileCatalog> catalogs, const std::string& format) const {
  std::vector<DescribedFile> files;
  auto next = catalogs.begin();
  for (std::uint32_t file = 0; file < paths_.size(); ++file) {
    const FileCatalog first = *next;
    for (std::uint32_t slot = 0; slot < most_slots_; ++slot) {
      FileCatalog catalog =
          slot < slots_[file] ? std::move(*next++) : FileCatalog{empty_schema(format), first.bytes, first.modified_ns};
      files.push_back({name(file, slot), paths_[file], std::move(catalog)});
    }
  }
  return files;
}

}  // namespace ckpt
