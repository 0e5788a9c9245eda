#include "checkpoint/read_manifest.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "checkpoint/file_views.hpp"
#include "io/posix_file.hpp"
#include "io/small_text.hpp"
#include "layout/language/parse_json.hpp"
#include "layout/tables/paddle_tables.hpp"

namespace ckpt {

namespace {

using Json = nlohmann::json;
constexpr const char* parameters_key = "parameters";

void add_parameter(const std::string& name, const Json& parameter, Manifest& manifest) {
  if (!manifest.parameters.emplace(name, parameter.value("fingerprint", "")).second)
    throw Error(Kind::input, manifest.origin, {"it names parameter '" + name + "' twice", "", "is it damaged?"});
}

Manifest parsed(const ManifestText& found) {
  Manifest manifest;
  manifest.origin = found.origin;
  const Json json = parsing::parse_json(
      found.text, found.origin, parameters_key,
      [&](const std::string& name, const Json& parameter) { add_parameter(name, parameter, manifest); });
  json.at(parameters_key).get_ref<const Json::object_t&>();
  manifest.layout_json = json.at("layout");
  manifest.layout = parse_layout(manifest.layout_json.dump(), "the layout in " + found.origin);
  if (found.is_directory) {
    for (const auto& file : json.at("files"))
      manifest.files[file.at("name")] = {file.at("name"), file.at("card"), file.at("bytes"),
                                         file.value("fingerprint", "")};
    for (const auto& file : json.value("beside", Json::array()))
      manifest.sidecars[file.at("name")] = {file.at("name"), 0, file.at("bytes"), file.value("fingerprint", "")};
  } else {
    const Json& file = json.at("file");
    manifest.files[found.file] = {found.file, 0, file.at("bytes"), file.value("fingerprint", "")};
    manifest.place = file.at("manifest_at");
  }
  manifest.without_fingerprints = json.value("fingerprints", "");
  return manifest;
}

/// Whether this names a file directly in the checkpoint's directory that is not a data file.
bool is_sidecar_name(const std::string& name, const Manifest& manifest) {
  const std::filesystem::path path(name);
  return path.has_filename() && path.filename() == path && name != "." && name != ".." && name != manifest_name &&
         !manifest.files.contains(name);
}

/// The layout's files must be the manifest's: no other name is ever opened but bare names beside them.
void check_files(const Manifest& manifest) {
  const std::vector<std::string> names = file_names(manifest.layout);
  if (manifest.files.size() != names.size() ||
      !std::all_of(names.begin(), names.end(), [&](const auto& name) { return manifest.files.contains(name); }))
    throw Error(Kind::input, manifest.origin,
                {"its files are not those that its layout names", "the same", "is it damaged?"});
  for (const auto& [name, file] : manifest.sidecars)
    if (!is_sidecar_name(name, manifest))
      throw Error(Kind::input, manifest.origin,
                  {"it names \"" + name + "\" beside its files", "a bare name", "is it damaged?"});
}

bool lacks_fingerprint(const std::map<std::string, ManifestFile>& files) {
  return std::any_of(files.begin(), files.end(), [](const auto& entry) { return entry.second.fingerprint.empty(); });
}

void check_fingerprints(const Manifest& manifest) {
  if (manifest.without_fingerprints == in_place_of_fingerprints(FingerprintPlace::views))
    throw Error(Kind::input, manifest.origin,
                {"it holds no fingerprints: the files show data of others, and have none of their own",
                 "one for each file and parameter",
                 "",
                 {Advice::What::compare_two, ""}});
  if (!manifest.without_fingerprints.empty())
    throw Error(Kind::input, manifest.origin,
                {"it holds no fingerprints: they were not known yet when it went into a pipe",
                 "one for each file and parameter",
                 "give the report of the job that wrote it (--fingerprints)",
                 {Advice::What::compare_two, ""}});
  if (lacks_fingerprint(manifest.files) || lacks_fingerprint(manifest.sidecars) ||
      std::any_of(manifest.parameters.begin(), manifest.parameters.end(),
                  [](const auto& entry) { return entry.second.empty(); }))
    throw Error(Kind::input, manifest.origin,
                {"it holds no fingerprints",
                 "one for each file and parameter",
                 "was it written without being verified?",
                 {Advice::What::compare_two, ""}});
}

bool is_present(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  if (error) throw system_error(path.string(), "cannot be looked at", error.value());
  return is_there;
}

}  // namespace

std::optional<std::string> directory_manifest(const std::filesystem::path& directory) {
  const auto path = directory / manifest_name;
  if (!is_present(path)) return std::nullopt;
  return small_text(path, most_manifest_bytes, "a manifest that these programs wrote", {Advice::What::give_layout, ""});
}

std::optional<ManifestText> find_manifest(const std::filesystem::path& checkpoint, bool is_file, SourceStore& store,
                                          Communicator& processes) {
  int reader = 0;
  bool is_mine = false;
  if (is_file) {
    bool is_here = false;
    agree(processes, [&] { is_here = is_present(checkpoint); });
    const auto size = static_cast<std::uint64_t>(processes.size());
    const std::uint64_t before_end =
        processes.maximum(is_here ? size - static_cast<std::uint64_t>(processes.rank()) : 0);
    if (before_end == 0) return std::nullopt;
    reader = static_cast<int>(size - before_end);
    is_mine = processes.rank() == reader;
  } else {
    const ManifestSights seen = see_manifest(checkpoint, processes);
    agree(processes, [&] {
      if (seen.unseen) throw Error(*seen.unseen);
    });
    if (!seen.is_anywhere) return std::nullopt;
    reader = seen.reader;
    is_mine = seen.is_mine;
  }
  ManifestText found;
  std::string digest;
  agree(processes, [&] {
    if (!is_mine) return;
    found.text = is_file ? store.catalog(checkpoint).schema->manifest : directory_manifest(checkpoint).value_or("");
    if (!is_file) digest = to_string(fingerprint(sum_of(std::as_bytes(std::span(found.text)), 0), manifest_name));
  });
  const auto digests = processes.all_gather(digest);  // a single file is compared by size and time, as all data is
  agree(processes, [&] { agreed_text(digests, "the manifest of " + checkpoint.string(), processes); });
  found.text = processes.broadcast(found.text, reader);
  if (is_file && found.text.empty()) return std::nullopt;
  found.is_directory = !is_file;
  found.origin = is_file ? checkpoint.string() + ": attribute ckpt_manifest" : (checkpoint / manifest_name).string();
  found.file = is_file ? checkpoint.filename().string() : manifest_name;
  return found;
}

ManifestText reported_manifest(const std::filesystem::path& report, ManifestText found, Communicator& processes) {
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    const PosixFile file = PosixFile::open_for_reading(report);
    const std::uint64_t bytes = file.status().bytes;
    const Json json = bytes > most_manifest_bytes ? Json() : Json::parse(file.text(0, bytes), nullptr, false);
    if (!json.is_object() || !json.contains("manifest"))
      throw Error(Kind::input, report.string(),
                  {"it tells of no file that went into a pipe", "the report of the job that wrote it", ""});
    found.text = json["manifest"].dump();
  });
  found.text = processes.broadcast(found.text, 0);
  found.origin = report.string() + ": manifest";
  return found;
}

Manifest parse_manifest(const ManifestText& found) {
  Manifest manifest;
  try {
    manifest = parsed(found);
  } catch (const Json::exception& problem) {
    throw Error(Kind::input, found.origin,
                {std::string("it is no manifest of these programs (") + problem.what() + ")", "", "is it damaged?"});
  }
  if (found.is_directory) check_files(manifest);
  check_fingerprints(manifest);
  return manifest;
}

}  // namespace ckpt
