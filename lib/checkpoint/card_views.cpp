#include "checkpoint/card_views.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "checkpoint/part_of_file.hpp"

namespace ckpt {

namespace {

struct Own {
  std::shared_ptr<const Schema> schema;
  std::vector<std::size_t> places;
};

/// Reduces a file's schema to what its owning card has of it.
class OwnSchema {
 public:
  OwnSchema(const Schema& file, const CardNames& names, const CardFiles::File& owner)
      : file_(file), names_(names), owner_(owner), own_(file) {}

  Own make() {
    take_arrays();
    take_groups();
    std::vector<Leaf> leaves;
    for (Leaf leaf : file_.leaves)
      if (const auto name = names_.of_card(owner_, leaf.name)) {
        leaf.name = name->value;
        leaves.push_back(std::move(leaf));
      }
    own_.leaves = std::move(leaves);
    return {std::make_shared<const Schema>(std::move(own_)), std::move(places_)};
  }

 private:
  void take_arrays() {
    std::vector<std::pair<std::string, std::size_t>> order;
    for (std::size_t i = 0; i < file_.arrays->size(); ++i)
      if (auto name = names_.of_card(owner_, (*file_.arrays)[i].name)) order.emplace_back(std::move(name->stored), i);
    std::sort(order.begin(), order.end());
    std::vector<StoredArray> arrays;
    std::vector<Dataset> datasets;
    for (auto& [name, i] : order) {
      arrays.push_back((*file_.arrays)[i]);
      arrays.back().name = std::move(name);
      datasets.push_back(file_.datasets[i]);
      places_.push_back(i);
    }
    own_.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
    own_.datasets = std::move(datasets);
  }

  /// A card's group attributes become its own, like those at the root of a file that only it has.
  void take_groups() {
    own_.groups.clear();
    for (const Group& group : file_.groups) {
      const auto name = names_.of_card(owner_, group.path + "/");
      if (!name) continue;
      if (name->value.empty())
        add_to_root(group.attributes);
      else
        own_.groups.push_back({name->value.substr(0, name->value.size() - 1), group.attributes});
    }
    const auto by_path = [](const Group& a, const Group& b) { return a.path < b.path; };
    std::sort(own_.groups.begin(), own_.groups.end(), by_path);
  }

  void add_to_root(const std::vector<Attribute>& attributes) {
    std::map<std::string, Attribute> all;
    for (const Attribute& attribute : own_.attributes) all.emplace(attribute.name, attribute);
    for (const Attribute& attribute : attributes) all.insert_or_assign(attribute.name, attribute);
    own_.attributes.clear();
    for (auto& [name, attribute] : all) own_.attributes.push_back(std::move(attribute));
  }

  const Schema& file_;
  const CardNames& names_;
  const CardFiles::File& owner_;
  Schema own_;
  std::vector<std::size_t> places_;
};

}  // namespace

std::vector<SharedFile> take_own_names(std::vector<FileCatalog>& files, const FileTable& table, const Layout& layout) {
  const CardNames names(layout);
  if (names.empty()) return {};
  using Key = std::tuple<const Schema*, std::size_t, std::vector<std::string>>;
  std::map<Key, Own> known;
  std::vector<SharedFile> whole;
  for (FileNumber file = 0; file < files.size(); ++file) {
    const CardFiles::File owner{table.entry(file), table.owner(file)};
    Own& own = known[{files[file].schema.get(), owner.entry, names.numbers_of(owner.position)}];
    if (!own.schema) own = OwnSchema(*files[file].schema, names, owner).make();
    whole.push_back({files[file], own.places});
    files[file].schema = own.schema;
  }
  return whole;
}

std::unique_ptr<SourceFile> open_part(const std::filesystem::path& path, const SharedFile& file, SourceStore& store) {
  return std::make_unique<PartOfFile>(store.open(path, file.catalog), file.places);
}

}  // namespace ckpt
