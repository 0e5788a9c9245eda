#include "engine/read_manifest.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/file_views.hpp"
#include "layout/parse_json.hpp"

namespace ckpt {

namespace {

/// What this process finds, or nothing.
std::string manifest_text(const std::filesystem::path& checkpoint, Store& store) {
  std::error_code error;
  if (std::filesystem::is_regular_file(checkpoint, error)) return store.catalog(checkpoint).schema->manifest;
  const auto file = checkpoint / "checkpoint.json";
  if (const auto bytes = std::filesystem::file_size(file, error); !error && bytes > parsing::max_json_bytes)
    throw Error(Kind::input, file.string(), {format_bytes(bytes), "expected a manifest, which is JSON text", ""});
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Manifest parsed(const std::string& text, const std::string& origin) {
  Manifest manifest;
  manifest.origin = origin;
  const auto json = parsing::parse_json(text, origin);
  manifest.layout_json = json.at("layout");
  manifest.layout = parse_layout(manifest.layout_json.dump(), "the layout in " + origin);
  for (const auto& file : json.value("files", nlohmann::json::array()))
    manifest.files[file.at("name")] = {file.at("name"), file.at("card"), file.at("bytes"),
                                       file.value("fingerprint", "")};
  for (const auto& [name, parameter] : json.at("parameters").items())
    manifest.parameters[name] = {
        parameter.at("dtype"),
        Extents(std::span<const std::uint64_t>(parameter.at("shape").get<std::vector<std::uint64_t>>())),
        parameter.value("fingerprint", "")};
  return manifest;
}

/// The layout's files are the manifest's: no other name is ever looked at.
void check_files(const Manifest& manifest) {
  const Mesh& mesh = manifest.layout.mesh;
  bool is_same = manifest.files.size() == mesh.size();
  for (Position card = 0; is_same && card < mesh.size(); ++card)
    is_same = manifest.files.contains(manifest.layout.files.path(mesh, card));
  if (!is_same)
    throw Error(Kind::input, manifest.origin,
                {"its files are not those that its layout names", "the same", "is it damaged?"});
}

void check_fingerprints(const Manifest& manifest) {
  const auto has_none = [](const auto& entry) { return entry.second.fingerprint.empty(); };
  if (std::any_of(manifest.files.begin(), manifest.files.end(), has_none) ||
      std::any_of(manifest.parameters.begin(), manifest.parameters.end(), has_none))
    throw Error(Kind::input, manifest.origin,
                {"it holds no fingerprints", "expected one for each file and parameter",
                 "was it written with --verify none? compare it with its source: ckpt-verify SRC DST"});
}

}  // namespace

Manifest parse_manifest(const std::string& text, const std::string& origin, bool is_directory) {
  Manifest manifest;
  try {
    manifest = parsed(text, origin);
  } catch (const nlohmann::json::exception& problem) {
    throw Error(Kind::input, origin, {"it is no manifest of these programs", problem.what(), "is it damaged?"});
  }
  if (is_directory) check_files(manifest);
  check_fingerprints(manifest);
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& checkpoint, Store& store, Communicator& processes) {
  std::string mine;
  agree(processes, [&] { mine = manifest_text(checkpoint, store); });
  const auto all = processes.all_gather(mine);
  Manifest manifest;
  agree(processes, [&] {
    const std::string text = one_text(all, "the manifest of " + checkpoint.string());
    if (text.empty())
      throw Error(Kind::input, checkpoint.string(),
                  {"it has no manifest (checkpoint.json, in a merged file attribute ckpt_manifest)",
                   "expected a checkpoint that these programs wrote", "to compare it with another: ckpt-verify A B"});
    std::error_code error;
    const bool is_directory = !std::filesystem::is_regular_file(checkpoint, error);
    const std::string origin =
        is_directory ? (checkpoint / "checkpoint.json").string() : checkpoint.string() + ": attribute ckpt_manifest";
    manifest = parse_manifest(text, origin, is_directory);
  });
  return manifest;
}

}  // namespace ckpt
