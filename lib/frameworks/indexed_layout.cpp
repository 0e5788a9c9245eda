#include "frameworks/indexed_layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "frameworks/cut_rules.hpp"

namespace ckpt {

namespace {

/// A target file: its card, and how many files of that card precede it.
using FilePlace = std::pair<Position, std::uint64_t>;

struct PlacedPiece {
  FilePlace file;
  Box box;
};

std::vector<PlacedPiece> pieces_of(const Placement& target, ParameterId parameter) {
  std::vector<PlacedPiece> pieces;
  std::map<Position, std::uint64_t> of_card;
  const Box all = whole(target.tensors()[parameter].shape);
  if (all.empty()) return {{{target.first_base(parameter), 0}, all}};
  target.for_each_shard(parameter, all, [&](Position card, const Region& region) {
    pieces.push_back({{card, of_card[card]++}, region.box});
  });
  return pieces;
}

/// Names the layout's files by position on its mesh.
void set_files(Layout& layout, const std::map<FilePlace, Position>& files, const DirectoryIndex& index) {
  const bool is_one_each = std::all_of(files.begin(), files.end(), [](const auto& file) {
    return file.first.second == 0 && file.first.first == file.second;
  });
  if (is_one_each) {
    layout.files = CardFiles({{FileTemplate(index.file_template(files.size()), layout.mesh), ""}});
    return;
  }
  FileTemplate::ByCard names;
  for (const auto& [place, position] : files)
    names.emplace(position, index.file_name({place.first, place.second, position, files.size()}));
  layout.files = CardFiles({{FileTemplate(std::move(names), layout.mesh), ""}});
}

}  // namespace

Layout indexed_layout(const Placement& target, const std::vector<std::string>& names, const DirectoryIndex& index) {
  std::vector<std::vector<PlacedPiece>> pieces;
  std::map<FilePlace, Position> files;
  for (ParameterId p = 0; p < target.tensors().size(); ++p) {
    pieces.push_back(names[p].empty() ? std::vector<PlacedPiece>{} : pieces_of(target, p));
    for (const PlacedPiece& piece : pieces.back()) files.emplace(piece.file, 0);
  }
  if (files.empty()) files.emplace(FilePlace{0, 0}, 0);  // for objects alone
  if (files.size() > max_cards)
    throw Error(Kind::layout, target.layout().origin,
                {std::to_string(files.size()) + " files of pieces", "at most " + std::to_string(max_cards),
                 "write it for fewer cards"});
  Position next = 0;
  for (auto& [place, position] : files) position = next++;
  std::vector<CutTensor> tensors;
  for (ParameterId p = 0; p < pieces.size(); ++p) {
    if (names[p].empty()) continue;
    CutTensor tensor{names[p], target.tensors()[p].shape, {}};
    for (PlacedPiece& piece : pieces[p]) tensor.held.push_back({files.at(piece.file), std::move(piece.box)});
    if (index.has_equal_pieces()) pad_pieces(tensor);
    tensors.push_back(std::move(tensor));
  }
  std::vector<IndexedTensor> listed;
  for (const CutTensor& tensor : tensors) {
    listed.push_back({tensor.name, tensor.shape, {}});
    for (const CutTensor::CardPiece& piece : tensor.held) listed.back().pieces.push_back(piece.box);
  }
  index.check(listed);
  const Mesh mesh{{"card"}, {files.size()}, {}};
  Layout layout = layout_of(tensors, mesh, "the layout of a directory with " + std::string(index.name()));
  set_files(layout, files, index);
  return layout;
}

}  // namespace ckpt
