#include "checkpoint/carried_manifest.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <span>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_views.hpp"
#include "checkpoint/read_manifest.hpp"
#include "layout/language/parse_json.hpp"
#include "processes/gather_all.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

namespace {

using Json = nlohmann::json;

Error without_layout(const std::string& origin, const char* found) {
  return {Kind::input, origin, {found, "a manifest that these programs wrote", "", {Advice::What::give_layout, ""}}};
}

KeptRows kept_rows(const Json& said) {
  return {said.value("where", ""), said.value("as", ""), said.value("of", std::uint64_t{0}), 0};
}

std::map<std::string, ManifestTable> tables_of(const Json& manifest) {
  std::map<std::string, ManifestTable> told;
  if (!manifest.contains("tables")) return told;
  try {
    for (const auto& [name, said] : manifest["tables"].items()) {
      ManifestTable& table = told[name];
      table.name = name;
      if (said.contains("kept")) table.kept = kept_rows(said["kept"]);
      if (said.contains("kept_before"))
        for (const Json& kept : said["kept_before"]) table.kept_before.push_back(kept_rows(kept));
      if (said.contains("layers"))
        for (const Json& layer : said["layers"])
          table.layers.push_back({layer.at("path"), layer.at("rows"), layer.at("taken")});
    }
  } catch (const Json::exception&) {
    return {};
  }
  return told;
}

/// A file's identity for processes of several hosts; empty where there is none. Throws io if nobody can tell.
std::string sight_of(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "";
    throw system_error(file.string(), "cannot be looked at", errno);
  }
  return wire::packed(
      std::tuple(static_cast<std::uint64_t>(found.st_size), static_cast<std::int64_t>(found.st_mtim.tv_sec),
                 static_cast<std::int64_t>(found.st_mtim.tv_nsec), static_cast<std::uint64_t>(found.st_ino)));
}

CarriedManifest read_here(const std::filesystem::path& directory, bool has_others) {
  CarriedManifest said;
  try {
    const auto text = directory_manifest(directory);
    if (!text) return said;  // it has just gone
    said = said_in(*text, (directory / manifest_name).string());
    if (has_others) said.digest = to_string(fingerprint(sum_of(std::as_bytes(std::span(*text)), 0), manifest_name));
  } catch (const Error& error) {
    said.unread = said.damage = error;
  }
  said.is_there = said.is_read_here = true;
  return said;
}

/// The manifest of a merged file, which all processes have in its catalog.
CarriedManifest of_merged_file(const Checkpoint& checkpoint) {
  CarriedManifest said;
  const auto& schema = checkpoint.files().empty() ? nullptr : checkpoint.files().front().schema;
  if (schema == nullptr || schema->manifest.empty()) return said;
  said = said_in(schema->manifest, checkpoint.path().string() + ": attribute ckpt_manifest");
  said.is_there = said.is_read_here = true;
  return said;
}

}  // namespace

CarriedManifest said_in(const std::string& text, const std::string& origin) {
  CarriedManifest said;
  said.is_sealed = is_sealed(text);
  const auto take = [&](const std::string& name, const Json& parameter) {
    if (!said.is_sealed || !parameter.is_object()) return;
    const auto found = parameter.find("fingerprint");
    if (found != parameter.end() && found->is_string()) said.fingerprints.emplace(name, found->get<std::string>());
  };
  try {
    const Json json = parsing::parse_json(text, origin, "parameters", take);
    if (!json.is_object() || !json.contains("layout"))
      said.damage = without_layout(origin, "it holds no layout");
    else
      said.layout = json["layout"].dump();
    if (json.is_object()) said.tables = tables_of(json);
    if (json.is_object() && json.contains("merged_by")) said.merged_by = json["merged_by"].dump();
  } catch (const Error& error) {
    said.fingerprints.clear();
    said.damage = error;
  }
  if (said.is_sealed) return said;
  said.damage = without_layout(origin, "it is not as it was written");
  said.layout.clear();
  said.merged_by.clear();
  return said;
}

ManifestSights see_manifest(const std::filesystem::path& directory, Communicator& processes) {
  ManifestSights seen;
  std::string mine;
  try {
    mine = sight_of(directory / manifest_name);
  } catch (const Error& error) {
    seen.unseen = error;
  }
  const std::vector<std::string> sights = processes.all_gather(mine);
  std::size_t first = 0;
  while (first < sights.size() && sights[first].empty()) ++first;
  seen.is_anywhere = first < sights.size();
  seen.is_here = !mine.empty();
  if (!seen.is_anywhere) return seen;
  seen.reader = static_cast<int>(first);
  seen.is_mine = seen.is_here && (processes.rank() == seen.reader || mine != sights[first]);
  return seen;
}

SharedManifest read_carried(const std::filesystem::path& directory, Communicator& processes) {
  const ManifestSights seen = see_manifest(directory, processes);
  CarriedManifest said;
  agree(processes, [&] {
    if (seen.is_mine) said = read_here(directory, processes.size() > 1);
  });
  if (seen.is_anywhere && processes.size() > 1) {
    const std::vector<std::string> digests = processes.all_gather(said.digest);
    std::optional<Error> differing;
    try {
      agreed_text(digests, "the manifest of " + directory.string(), processes);
    } catch (const Error& error) {
      differing = error;
    }
    // Fingerprints may be many; those who compare them do so where they were read.
    CarriedManifest first = said;
    first.fingerprints.clear();
    first = value_of(seen.reader, first, processes);
    if (!said.is_read_here) {
      said = std::move(first);
      said.is_read_here = false;
    }
    said.differing = std::move(differing);
  }
  if (seen.unseen) said.unread = said.damage = seen.unseen;
  said.directory = directory.string();
  return std::make_shared<const CarriedManifest>(std::move(said));
}

std::optional<Layout> carried_layout(const SharedManifest& manifest, Communicator& processes) {
  const std::string what = "the layout that " + manifest->directory + " carries";
  const auto texts = processes.all_gather(manifest->damage ? std::string() : manifest->layout);
  std::optional<Layout> layout;
  agree(processes, [&] {
    if (const std::string carried = agreed_text(texts, what, processes); !carried.empty())
      layout = parse_layout(carried, what);
  });
  return layout;
}

const CarriedManifest& carried_manifest(const Checkpoint& checkpoint, Communicator& processes) {
  if (checkpoint.manifest() == nullptr)
    checkpoint.keep_manifest(checkpoint.is_single_file()
                                 ? std::make_shared<const CarriedManifest>(of_merged_file(checkpoint))
                                 : read_carried(checkpoint.path(), processes));
  const CarriedManifest& said = *checkpoint.manifest();
  agree(processes, [&] {
    if (said.unread) throw Error(*said.unread);
  });
  return said;
}

std::optional<Layout> merged_by(const Checkpoint& checkpoint, Communicator& processes) {
  const CarriedManifest& said = carried_manifest(checkpoint, processes);
  std::optional<Layout> layout;
  agree(processes, [&] {
    if (said.differing) throw Error(*said.differing);
    if (!said.merged_by.empty())
      layout = parse_layout(said.merged_by, "the rules by which " + checkpoint.path().string() + " was merged");
  });
  return layout;
}

const std::map<std::string, ManifestTable>& tables_in_manifest(const Checkpoint& checkpoint) {
  const auto alone = single_process();
  return carried_manifest(checkpoint, *alone).tables;
}

std::vector<KeptRows> all_kept(const ManifestTable& table) {
  std::vector<KeptRows> kept = table.kept_before;
  if (table.kept) kept.push_back(*table.kept);
  return kept;
}

std::string changed_warning(const std::string& path, const std::vector<std::string>& parameters) {
  return path + ": " + (parameters.empty() ? "its files" : join(parameters)) +
         (parameters.size() == 1 ? " is" : " are") +
         " not as its manifest says: damaged since it was written, or changed on purpose? ckpt verify " +
         shell_word(path) + " names the files";
}

}  // namespace ckpt
