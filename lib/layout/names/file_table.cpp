#include "layout/names/file_table.hpp"

namespace ckpt {

FileTable::FileTable(const Layout& layout)
    : entries_(layout.files.entries().size()), files_(layout.files.files(layout.mesh)) {
  const Mesh& mesh = layout.mesh;
  of_card_.resize(mesh.size() * entries_);
  FileNumber before = 0;
  for (std::size_t entry = 0; entry < entries_; ++entry) {
    const auto axes = layout.files.axes(mesh, entry);
    const std::uint64_t count = layout.files.count(mesh, entry);
    for (Position card = 0; card < mesh.size(); ++card) {
      const std::uint64_t number = mesh.combination_at(axes, card);
      of_card_[card * entries_ + entry] = before + (number < count ? number : 0);  // a card beyond the last file holds
                                                                                   // nothing
    }
    before += count;
  }
}

std::vector<FileNumber> FileTable::owned_by(Position card) const {
  std::vector<FileNumber> owned;
  for (std::size_t entry = 0; entry < entries_; ++entry)
    if (const FileNumber file = of(card, entry); owner(file) == card) owned.push_back(file);
  return owned;
}

ArrayFiles::ArrayFiles(const Placement& placement) : placement_(&placement), table_(placement.layout()) {
  const CardFiles& files = placement.layout().files;
  arrays_.reserve(placement.arrays().size());
  for (const ArrayPlace& array : placement.arrays()) {
    std::string within = files.name_within(array.name);
    BoxedOptional<std::string> other;
    if (within != array.name) other = std::move(within);
    arrays_.push_back({files.entry_of(array.name).value_or(0), std::move(other)});
  }
}

}  // namespace ckpt
