#include "layout/file_table.hpp"

namespace ckpt {

FileTable::FileTable(const Layout& layout) : entries_(layout.files.entries().size()) {
  const Mesh& mesh = layout.mesh;
  of_card_.resize(mesh.size() * entries_);
  for (std::size_t entry = 0; entry < entries_; ++entry) {
    const auto axes = layout.files.entries()[entry].path.axes(mesh);
    const FileNumber before = files_.size();
    const std::uint64_t files = mesh.combinations(axes);
    for (std::uint64_t number = 0; number < files; ++number)
      files_.push_back({entry, mesh.position_of_combination(axes, number)});
    for (Position card = 0; card < mesh.size(); ++card)
      of_card_[card * entries_ + entry] = before + mesh.combination(axes, mesh.coordinates(card));
  }
}

std::vector<FileNumber> FileTable::owned_by(Position card) const {
  std::vector<FileNumber> owned;
  for (std::size_t entry = 0; entry < entries_; ++entry)
    if (const FileNumber file = of(card, entry); owner(file) == card) owned.push_back(file);
  return owned;
}

ArrayFiles::ArrayFiles(const Placement& placement) : table_(placement.layout()) {
  const CardFiles& files = placement.layout().files;
  arrays_.reserve(placement.arrays().size());
  for (const ArrayPlace& array : placement.arrays())
    arrays_.push_back({files.entry_of(array.name).value_or(0), files.name_within(array.name)});
}

}  // namespace ckpt
