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
Reference::Data data_of(FoundCheckpoint found, SourceStore& store, Communicator& processes) {
  agree(processes, [&] {
    if (!found.checkpoint && !found.files.is_single_file)
      throw missing_layout_error(found.files, store,
                                 {"it carries no layout of its own", "a reference that says how it is cut",
                                  "merge it into one file with its layout first"})
          .of_kind(Kind::input);
  });
  Reference::Data data{opened(std::move(found), store, processes), {}};
  agree(processes, [&] { data.placement = resolve(data.checkpoint).placement; });
  return data;
}

}  // namespace

Reference::Reference(std::string origin, std::vector<Tensor> tensors)
    : origin_(std::move(origin)), tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
}

Reference::Reference(std::string origin, Data data)
    : origin_(std::move(origin)), tensors_(data.placement.tensors()), data_(std::move(data)) {}

void Reference::dequantise(const Dequantisation& how) {
  data_->checkpoint.dequantise(how);
  data_->placement = resolve(data_->checkpoint).placement;
  tensors_ = data_->placement.tensors();
}

Reference Reference::load(const std::filesystem::path& path, SourceStore& store, Communicator& processes) {
  const std::string origin = path.string();
  ReferenceListing found;
  agree(processes, [&] {
    if (processes.rank() == 0) found = found_at(path, store);
  });
  found = value_of(0, found, processes);
  if (found.is_checkpoint)
    return {origin, data_of(find_checkpoint(CheckpointPlace{path, {}}, store, processes), store, processes)};
  std::variant<WeightMap, std::vector<Tensor>> said;
  agree(processes, [&] { said = parse_reference(found.json, origin); });
  if (auto* const tensors = std::get_if<std::vector<Tensor>>(&said)) return {origin, std::move(*tensors)};
  CheckpointProbe indexed = probe_indexed(path, std::get<WeightMap>(said), store, processes);
  return {origin, data_of(find_probed(std::move(indexed), store, processes), store, processes)};
}

std::optional<std::size_t> Reference::find(const std::string& name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const Tensor& tensor, const std::string& key) { return tensor.name < key; });
  if (found == tensors_.end() || found->name != name) return std::nullopt;
  return static_cast<std::size_t>(found - tensors_.begin());
}

ReferenceReader::ReferenceReader(const Reference& reference, SourceStore& store, std::uint64_t window_bytes,
                                 std::size_t most_open)
    : reader_(reference.data()->checkpoint, reference.data()->placement, store, window_bytes, most_open),
      scratch_(scratch_bytes) {}

void ReferenceReader::read(std::size_t tensor, const Box& box, std::span<std::byte> out) {
  reader_.read_box(static_cast<ParameterId>(tensor), box, out, scratch_.first(scratch_.size()));
}

}  // namespace ckpt
