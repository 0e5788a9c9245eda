#include "checkpoint/reference.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/read_manifest.hpp"
#include "checkpoint/reference_json.hpp"
#include "processes/wire.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

namespace {

/// Far above any index; what is larger is data given by mistake, which must not be read into memory.
constexpr std::uint64_t most_json_bytes = 256ULL << 20;

/// What process 0 has found at a reference's path.
struct Found {
  bool is_checkpoint = false;
  std::string json;    ///< of what is no checkpoint
  std::string layout;  ///< that the files of a directory without a manifest carry

  static auto fields(auto& self) { return std::tie(self.is_checkpoint, self.json, self.layout); }
};

std::string json_in(const std::filesystem::path& path) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  if (bytes > most_json_bytes)
    throw Error(Kind::input, path.string(),
                {"no checkpoint that can be read, and larger than " + format_bytes(most_json_bytes),
                 "expected a checkpoint, a safetensors index or JSON", ""});
  return file.text(0, bytes);
}

/// The layout that the files of a directory carry, as text: that of the first one in the order of their names.
std::string layout_in_files(const std::filesystem::path& directory, SourceStore& store) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  constexpr auto readable = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator it(directory, readable, error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file(error)) files.push_back(it->path());
  if (error) throw system_error(directory.string(), "list", error.value());
  std::sort(files.begin(), files.end());
  std::string layout;
  const auto first = std::find_if(files.begin(), files.end(), [&](const auto& file) { return store.recognises(file); });
  if (first != files.end()) layout = store.catalog(*first).schema->layout;
  if (layout.empty())
    throw Error(Kind::input, directory.string(),
                {"it carries no layout of its own", "expected a reference that says how it is cut",
                 "merge it into one file with its layout first"});
  return layout;
}

Found look(const std::filesystem::path& path, SourceStore& store) {
  const auto status = store.look_at(path);
  if (!status)
    throw Error(Kind::input, path.string(),
                {"no such file or directory", "expected a checkpoint, a safetensors index or JSON", "check the path"});
  if (!status->is_directory && !store.recognises(path)) return {false, json_in(path), ""};
  if (status->is_directory && !directory_manifest(path)) return {true, "", layout_in_files(path, store)};
  return {true, "", ""};
}

/// A checkpoint whole, by the layout that it carries.
Reference::Part part_of(const CheckpointPlace& place, SourceStore& store, Communicator& processes) {
  Reference::Part part{Checkpoint::open(place, store, processes), {}};
  agree(processes, [&] { part.placement = resolve(part.checkpoint).placement; });
  return part;
}

/// Throws input where files beside an index do not hold what it says.
void check_index(const std::string& origin, const WeightMap& index, const std::vector<Reference::Part>& parts) {
  std::set<std::pair<std::string, std::string>> held;
  for (const Reference::Part& part : parts)
    for (const Tensor& tensor : part.placement.tensors()) {
      const std::string file = part.checkpoint.path().filename().string();
      held.emplace(file, tensor.name);
      const auto said = index.file_of.find(tensor.name);
      if (said == index.file_of.end() || said->second != file)
        throw Error(Kind::input, file,
                    {"it holds '" + tensor.name + "'",
                     origin + (said == index.file_of.end() ? " does not name it" : " says it is in " + said->second),
                     "is the index that of these files?"});
    }
  for (const auto& [name, file] : index.file_of)
    if (!held.contains({file, name}))
      throw Error(
          Kind::input, file,
          {"it does not hold '" + name + "'", origin + " says that it does", "is the index that of these files?"});
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
  Found found;
  agree(processes, [&] {
    if (processes.rank() == 0) found = look(path, store);
  });
  found = wire::unpacked<Found>(processes.broadcast(wire::packed(found), 0));
  std::vector<Part> parts;
  if (found.is_checkpoint) {
    CheckpointPlace place{path, {}};
    agree(processes, [&] {
      if (!found.layout.empty()) place.layout = parse_layout(found.layout, "the layout that " + origin + " carries");
    });
    parts.push_back(part_of(place, store, processes));
    return of(origin, std::move(parts));
  }
  std::variant<WeightMap, std::vector<Tensor>> said;
  agree(processes, [&] { said = parse_reference(found.json, origin); });
  if (auto* const tensors = std::get_if<std::vector<Tensor>>(&said)) return {origin, std::move(*tensors)};
  const auto& index = std::get<WeightMap>(said);
  std::set<std::string> files;
  for (const auto& [name, file] : index.file_of) files.insert(file);
  for (const std::string& file : files) parts.push_back(part_of({path.parent_path() / file, {}}, store, processes));
  agree(processes, [&] { check_index(origin, index, parts); });
  return of(origin, std::move(parts));
}

std::optional<std::size_t> Reference::find(const std::string& name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const Tensor& tensor, const std::string& key) { return tensor.name < key; });
  if (found == tensors_.end() || found->name != name) return std::nullopt;
  return static_cast<std::size_t>(found - tensors_.begin());
}

}  // namespace ckpt
