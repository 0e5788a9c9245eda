#include "checkpoint/read_manifest.hpp"

#include <algorithm>

#include "base/shell_word.hpp"
#include "base/text.hpp"
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

KeptRows kept_rows(const Json& said) {
  return {said.value("where", ""), said.value("as", ""), said.value("of", std::uint64_t{0}), 0};
}

/// A checkpoint's manifest; empty where this process sees none.
std::string manifest_of(const Checkpoint& checkpoint) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(checkpoint.path(), error))
    return directory_manifest(checkpoint.path()).value_or("");
  return checkpoint.file(0).schema->manifest;
}

std::map<std::string, ManifestTable> tables_from(const std::string& manifest) {
  std::map<std::string, ManifestTable> told;
  if (manifest.empty()) return told;
  try {
    // Skips the parameters, of which there may be very many.
    const Json json = parsing::parse_json(manifest, "", parameters_key, [](const std::string&, const Json&) {});
    if (!json.is_object() || !json.contains("tables")) return told;
    for (const auto& [name, said] : json["tables"].items()) {
      ManifestTable& table = told[name];
      table.name = name;
      if (said.contains("kept")) table.kept = kept_rows(said["kept"]);
      if (said.contains("kept_before"))
        for (const Json& kept : said["kept_before"]) table.kept_before.push_back(kept_rows(kept));
      if (said.contains("layers"))
        for (const Json& layer : said["layers"])
          table.layers.push_back({layer.at("path"), layer.at("rows"), layer.at("taken")});
    }
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
  return told;
}

}  // namespace

std::optional<std::string> directory_manifest(const std::filesystem::path& directory) {
  const auto path = directory / manifest_name;
  if (!is_present(path)) return std::nullopt;
  return small_text(path, most_manifest_bytes, "a manifest that these programs wrote", {Advice::What::give_layout, ""});
}

std::map<std::string, std::string> manifest_fingerprints(const Checkpoint& checkpoint) {
  const std::string text = manifest_of(checkpoint);
  std::map<std::string, std::string> told;
  if (!is_sealed(text)) return told;
  try {
    parsing::parse_json(text, "", parameters_key, [&](const std::string& name, const Json& parameter) {
      if (parameter.contains("fingerprint")) told.emplace(name, parameter.at("fingerprint"));
    });
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
  return told;
}

std::string changed_warning(const std::string& path, const std::vector<std::string>& parameters) {
  return path + ": " + (parameters.empty() ? "its files" : join(parameters)) +
         (parameters.size() == 1 ? " is" : " are") +
         " not as its manifest says: damaged since it was written, or changed on purpose? ckpt-verify " +
         shell_word(path) + " names the files";
}

std::map<std::string, ManifestTable> tables_in_manifest(const Checkpoint& checkpoint) {
  return tables_from(manifest_of(checkpoint));
}

std::map<std::string, ManifestTable> tables_in_manifest(const std::filesystem::path& directory) {
  return tables_from(directory_manifest(directory).value_or(""));
}

std::vector<KeptRows> all_kept(const ManifestTable& table) {
  std::vector<KeptRows> kept = table.kept_before;
  if (table.kept) kept.push_back(*table.kept);
  return kept;
}

std::optional<std::string> carried_layout(const std::filesystem::path& directory) {
  const auto text = directory_manifest(directory);
  if (!text) return std::nullopt;
  const std::string path = (directory / manifest_name).string();
  if (!is_sealed(*text))
    throw Error(
        Kind::input, path,
        {"it is not as it was written", "a manifest that these programs wrote", "", {Advice::What::give_layout, ""}});
  const Json json = parsing::parse_json(*text, path, parameters_key, [](const std::string&, const Json&) {});
  if (!json.is_object() || !json.contains("layout"))
    throw Error(Kind::input, path,
                {"it holds no layout", "a manifest that these programs wrote", "", {Advice::What::give_layout, ""}});
  return json["layout"].dump();
}

std::optional<ManifestText> find_manifest(const std::filesystem::path& checkpoint, bool is_file, SourceStore& store,
                                          Communicator& processes) {
  const auto size = static_cast<std::uint64_t>(processes.size());
  const auto rank = static_cast<std::uint64_t>(processes.rank());
  bool is_here = false;
  agree(processes, [&] { is_here = is_present(is_file ? checkpoint : checkpoint / manifest_name); });
  const std::uint64_t before_end = processes.maximum(is_here ? size - rank : 0);
  if (before_end == 0) return std::nullopt;
  const std::uint64_t finder = size - before_end;
  ManifestText found;
  std::string digest;
  agree(processes, [&] {
    if (is_file && rank == finder) found.text = store.catalog(checkpoint).schema->manifest;
    if (is_file || !is_here) return;
    found.text = directory_manifest(checkpoint).value_or("");
    digest = to_string(fingerprint(sum_of(std::as_bytes(std::span(found.text)), 0), manifest_name));
  });
  const auto digests = processes.all_gather(digest);  // a single file is compared by size and time, as all data is
  agree(processes, [&] { agreed_text(digests, "the manifest of " + checkpoint.string(), processes); });
  found.text = processes.broadcast(found.text, static_cast<int>(finder));
  if (is_file && found.text.empty()) return std::nullopt;
  found.is_directory = !is_file;
  found.origin = is_file ? checkpoint.string() + ": attribute ckpt_manifest" : (checkpoint / manifest_name).string();
  found.file = is_file ? checkpoint.filename().string() : manifest_name;
  return found;
}

std::optional<Layout> merged_by(const Checkpoint& checkpoint, SourceStore& store, Communicator& processes) {
  std::string text;
  if (!checkpoint.is_single_file()) {
    if (const auto found = find_manifest(checkpoint.path(), false, store, processes)) text = found->text;
  } else if (const auto& schema = checkpoint.files().front().schema; schema != nullptr) {
    text = schema->manifest;
  }
  std::optional<Layout> layout;
  agree(processes, [&] {
    if (!is_sealed(text)) return;
    const std::string origin = "the rules by which " + checkpoint.path().string() + " was merged";
    const Json json = parsing::parse_json(text, origin, parameters_key, [](const std::string&, const Json&) {});
    if (json.is_object() && json.contains("merged_by")) layout = parse_layout(json["merged_by"].dump(), origin);
  });
  return layout;
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
