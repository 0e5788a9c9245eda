#include "checkpoint/reference.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "checkpoint/directory_hints.hpp"
#include "checkpoint/found_files.hpp"
#include "checkpoint/indexed_files.hpp"
#include "checkpoint/missing_layout.hpp"
#include "checkpoint/reference_json.hpp"
#include "frameworks/describe.hpp"
#include "io/small_text.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

constexpr std::size_t scratch_bytes = 256UL << 10;

/// Far above any index; a larger file is data given by mistake, which must not be read into memory.
constexpr std::uint64_t most_json_bytes = 256ULL << 20;

/// What process 0 finds at a reference's path.
struct ReferenceListing {
  bool is_checkpoint = false;
  std::string json;  ///< else the file's text
};

std::string json_in(const std::filesystem::path& path) {
  return small_text(path, most_json_bytes, "a checkpoint, a safetensors index or JSON");
}

ReferenceListing found_at(const std::filesystem::path& path, SourceStore& store) {
  if (SelfDescribed::is_part(path)) return {true, ""};
  const auto status = store.look_at(path);
  if (!status) throw not_found_error(path, "a checkpoint, a safetensors index or JSON");
  if (!status->is_directory && !store.recognises(path)) return {false, json_in(path)};
  return {true, ""};
}

/// Opens a whole checkpoint by its own metadata.
Reference::Part part_of(FoundCheckpoint found, SourceStore& store, Communicator& processes) {
  agree(processes, [&] {
    if (!found.checkpoint && !found.files.is_single_file)
      throw missing_layout_error(found.files, store,
                                 {"it carries no layout of its own", "a reference that says how it is cut",
                                  "merge it into one file with its layout first"})
          .of_kind(Kind::input);
  });
  Reference::Part part{opened(std::move(found), store, processes), {}};
  agree(processes, [&] { part.placement = resolve(part.checkpoint).placement; });
  return part;
}

}  // namespace

Reference::Reference(std::string origin, std::vector<Tensor> tensors)
    : origin_(std::move(origin)), tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
}

Reference Reference::of(std::string origin, std::vector<Part> parts) {
  std::vector<std::pair<const Tensor*, Place>> all;
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (ParameterId parameter = 0; parameter < parts[part].placement.tensors().size(); ++parameter)
      all.push_back({&parts[part].placement.tensors()[parameter], {part, parameter}});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first->name < b.first->name; });
  Reference reference(std::move(origin), {});
  for (const auto& [tensor, place] : all) {
    reference.tensors_.push_back(*tensor);
    reference.places_.push_back(place);
  }
  reference.parts_ = std::move(parts);
  return reference;
}

Reference Reference::load(const std::filesystem::path& path, SourceStore& store, Communicator& processes) {
  const std::string origin = path.string();
  ReferenceListing found;
  agree(processes, [&] {
    if (processes.rank() == 0) found = found_at(path, store);
  });
  found = value_of(0, found, processes);
  std::vector<Part> parts;
  if (found.is_checkpoint) {
    parts.push_back(part_of(find_checkpoint(CheckpointPlace{path, {}}, store, processes), store, processes));
    return of(origin, std::move(parts));
  }
  std::variant<WeightMap, std::vector<Tensor>> said;
  agree(processes, [&] { said = parse_reference(found.json, origin); });
  if (auto* const tensors = std::get_if<std::vector<Tensor>>(&said)) return {origin, std::move(*tensors)};
  CheckpointProbe indexed = probe_indexed(path, std::get<WeightMap>(said), store, processes);
  parts.push_back(part_of(find_probed(std::move(indexed), store, processes), store, processes));
  return of(origin, std::move(parts));
}

std::optional<std::size_t> Reference::find(const std::string& name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const Tensor& tensor, const std::string& key) { return tensor.name < key; });
  if (found == tensors_.end() || found->name != name) return std::nullopt;
  return static_cast<std::size_t>(found - tensors_.begin());
}

ReferenceReader::ReferenceReader(const Reference& reference, SourceStore& store, std::uint64_t window_bytes,
                                 std::size_t most_open)
    : reference_(reference), scratch_(scratch_bytes) {
  const std::size_t parts = reference.parts().size();
  for (const Reference::Part& part : reference.parts())
    readers_.push_back(std::make_unique<SourceReader>(part.checkpoint, part.placement, store, window_bytes / parts,
                                                      std::max<std::size_t>(1, most_open / parts)));
}

void ReferenceReader::read(std::size_t tensor, const Box& box, std::span<std::byte> out) {
  const auto [part, parameter] = reference_.place(tensor);
  readers_[part]->read_box(parameter, box, out, scratch_.first(scratch_.size()));
}

}  // namespace ckpt
