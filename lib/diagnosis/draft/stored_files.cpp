#include "diagnosis/draft/stored_files.hpp"

#include <algorithm>
#include <map>

#include "base/parallel.hpp"
#include "base/text.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::uint64_t window_bytes = 64ULL << 20;

}  // namespace

StoredFiles::StoredFiles(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open)
    : checkpoint_(checkpoint), files_(most_open, [&checkpoint, &store](FileNumber file) {
        return std::shared_ptr<SourceFile>(checkpoint.open_file(file, store));
      }) {}

void StoredFiles::read(FileNumber file, std::size_t dataset, Interval elements, std::span<std::byte> out) {
  const std::uint64_t element = (*checkpoint_.file(file).schema->arrays)[dataset].dtype.size;
  files_.get(file)->read(dataset, elements.lo * element, out);
  bytes_ += out.size();
}

void StoredFiles::read(Position card, const std::string& stored, Interval elements, std::span<std::byte> out) {
  const FileNumber file = checkpoint_.table().of(card, 0);
  read(file, checkpoint_.file(file).schema->find(stored), elements, out);
}

StoredSample StoredFiles::sample(FileNumber file, std::size_t dataset) {
  StoredSample found = stored_sample(*files_.get(file), *checkpoint_.file(file).schema, dataset);
  bytes_ += found.bytes;
  return found;
}

std::vector<NameFacts> StoredFiles::facts(unsigned threads) {
  const std::uint64_t count = checkpoint_.files().size();
  std::vector<std::vector<StoredSample>> sampled(count);
  for_each_in_parallel(threads, count, [&](FileNumber file) {
    const std::size_t datasets = checkpoint_.file(file).schema->datasets.size();
    for (std::size_t dataset = 0; dataset < datasets; ++dataset) sampled[file].push_back(sample(file, dataset));
  });
  struct ByNature {
    bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
  };
  struct Values {
    std::string value;
    bool is_constant = true;
  };
  std::map<std::string, NameFacts, ByNature> by_name;
  std::map<std::string, Values> values;
  const std::uint64_t cards = checkpoint_.layout().mesh.size();
  for (FileNumber file = 0; file < count; ++file) {
    const std::vector<StoredArray>& arrays = *checkpoint_.file(file).schema->arrays;
    for (std::size_t dataset = 0; dataset < arrays.size(); ++dataset) {
      const std::string& name = arrays[dataset].name;
      NameFacts& facts = by_name[name];
      facts.pieces.resize(cards);
      const StoredSample& found = sampled[file][dataset];
      facts.pieces[checkpoint_.table().owner(file)] = {&arrays[dataset], found.digest};
      if (found.is_empty) continue;
      Values& known = values[name];
      if (known.value.empty()) known.value = found.value;
      known.is_constant = known.is_constant && !found.value.empty() && found.value == known.value;
    }
  }
  std::vector<NameFacts> result;
  for (auto& [name, facts] : by_name) {
    facts.stored = name;
    facts.name = name;
    facts.is_constant = values[name].is_constant;
    result.push_back(std::move(facts));
  }
  return result;
}

ReferenceTensors::ReferenceTensors(const Reference& reference, SourceStore& store, std::size_t most_open)
    : reference_(reference) {
  if (reference.has_data()) reader_ = std::make_unique<ReferenceReader>(reference, store, window_bytes, most_open);
}

void ReferenceTensors::read(const std::string& name, const Box& box, std::span<std::byte> out) {
  if (out.empty()) return;
  bytes_ += out.size();
  reader_->read(*reference_.find(name), box, out);
}

}  // namespace ckpt::drafting
