#include "checkpoint/manifest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "processes/gather_all.hpp"
#include "store/store.hpp"

namespace ckpt {

namespace {

constexpr std::string_view before_checksum = " \"checksum\": \"";
constexpr std::string_view after_checksum = "\"\n}\n";
constexpr std::size_t checksum_size = 32;
constexpr std::uint64_t longest_escape = 6;           // \u001b
constexpr std::uint64_t most_parameter_bytes = 1024;  // its shape of up to 32 dimensions, fingerprint and words
constexpr std::uint64_t most_file_bytes = 32768;      // a path, escaped, and numbers
constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

std::string checksum_of(std::string_view text) {
  // Zeros do not change the sum, so the key contains the number of bytes.
  return to_string(
      fingerprint(sum_of(std::as_bytes(std::span(text)), 0), "manifest of " + std::to_string(text.size()) + " bytes"));
}

std::string quoted(const std::string& text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return '"' + text + '"';
  return nlohmann::json(text).dump();
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

/// The end of a JSON object, with the fingerprint as its last member if there is one.
std::string end_with(const std::string& fingerprint) {
  return fingerprint.empty() ? "}" : ", \"fingerprint\": \"" + fingerprint + "\"}";
}

std::string beginning(const Layout& layout) {
  std::string text = "{\n \"ckpt_manifest\": 1,\n \"tool\": \"ckpt-reshard\",\n \"version\": " + quoted(CKPT_VERSION);
  text += ",\n \"layout\": " + to_json(layout);
  while (text.back() == '\n') text.pop_back();
  return text;
}

std::string list_of(const std::vector<ManifestFile>& files) {
  std::string text = " \"files\": [";
  for (const ManifestFile& file : files) {
    text += &file == &files.front() ? "\n  " : ",\n  ";
    text += "{\"name\": " + quoted(file.name) + ", \"card\": " + number(file.card) +
            ", \"bytes\": " + number(file.bytes) + end_with(file.fingerprint);
  }
  return text + "\n ],\n";
}

/// Only an output with such files gets the list: the manifests of others stay as they were.
std::string list_sidecars(const std::vector<ManifestFile>& sidecars) {
  if (sidecars.empty()) return "";
  std::string text = " \"beside\": [";
  for (const ManifestFile& file : sidecars) {
    text += &file == &sidecars.front() ? "\n  " : ",\n  ";
    text += "{\"name\": " + quoted(file.name) + ", \"bytes\": " + number(file.bytes) + end_with(file.fingerprint);
  }
  return text + "\n ],\n";
}

std::string single(const ManifestFile& file, const ManifestRoom& room) {
  return " \"file\": {\"bytes\": " + number(file.bytes) + ", \"manifest_at\": " + number(room.offset) +
         end_with(file.fingerprint) + ",\n";
}

void add_parameters(const Placement& placement, const std::vector<Fingerprint>& fingerprints, std::string& text) {
  text += " \"parameters\": {";
  for (ParameterId p = 0; p < placement.tensors().size(); ++p) {
    const Tensor& tensor = placement.tensors()[p];
    text += p == 0 ? "\n  " : ",\n  ";
    text += quoted(tensor.name) + ": {\"dtype\": " + quoted(tensor.dtype.name) +
            ", \"shape\": " + to_string(tensor.shape) +
            end_with(fingerprints.empty() ? std::string() : to_string(fingerprints[p]));
  }
  text += "\n },\n";
}

std::string rows_of(std::uint64_t rows, const std::vector<Fingerprint>& fingerprints) {
  std::string text = "\"rows\": " + number(rows);
  for (std::size_t i = 0; i < fingerprints.size(); ++i)
    text += (i == 0 ? ", \"fingerprints\": [\"" : ", \"") + to_string(fingerprints[i]) + '"';
  return fingerprints.empty() ? text : text + "]";
}

std::string kept_rows(const KeptRows& kept) {
  std::string text = "{\"of\": " + number(kept.of);
  if (!kept.where.empty()) text += ", \"where\": " + quoted(kept.where);
  if (!kept.as.empty()) text += ", \"as\": " + quoted(kept.as);
  return text + "}";
}

std::string all_kept_rows(const ManifestTable& table) {
  std::string before;
  for (const KeptRows& kept : table.kept_before)
    before += (before.empty() ? ", \"kept_before\": [" : ", ") + kept_rows(kept);
  return (table.kept ? ", \"kept\": " + kept_rows(*table.kept) : "") + (before.empty() ? "" : before + "]");
}

std::string table_layers(const std::vector<TableLayerFacts>& layers) {
  std::string text;
  for (const TableLayerFacts& layer : layers)
    text += (text.empty() ? ", \"layers\": [" : ", ") + ("{\"path\": " + quoted(layer.path)) +
            ", \"rows\": " + number(layer.rows) + ", \"taken\": " + number(layer.taken) + "}";
  return text.empty() ? text : text + "]";
}

void add_tables(const std::vector<ManifestTable>& tables, std::string& text) {
  if (tables.empty()) return;
  text += " \"tables\": {";
  for (const ManifestTable& table : tables) {
    text += (&table == &tables.front() ? "\n  " : ",\n  ") + quoted(table.name) + ": {\"datasets\": [";
    for (const std::string& name : table.datasets)
      text += (&name == &table.datasets.front() ? "" : ", ") + quoted(name);
    text += "], " + rows_of(std::accumulate(table.rows.begin(), table.rows.end(), std::uint64_t{0}), table.all) +
            all_kept_rows(table) + table_layers(table.layers) + ", \"servers\": [";
    for (std::size_t server = 0; server < table.rows.size(); ++server)
      text += (server == 0 ? "\n   {" : ",\n   {") +
              rows_of(table.rows[server], table.servers.empty() ? table.all : table.servers[server]) + "}";
    text += "]}";
  }
  text += "\n },\n";
}

/// The longest entry: no fact about a file and no fingerprint takes more digits.
ManifestFile longest(std::string name, bool with_fingerprints) {
  return {std::move(name), largest, largest, with_fingerprints ? to_string(Fingerprint{}) : std::string()};
}

std::vector<Fingerprint> any_fingerprints(const Placement& placement, bool with_fingerprints) {
  return std::vector<Fingerprint>(with_fingerprints ? placement.tensors().size() : 0);
}

}  // namespace

std::string sealed(std::string text) {
  text += before_checksum;
  text += checksum_of(text);
  text += after_checksum;
  return text;
}

bool is_sealed(std::string_view text) {
  constexpr std::size_t end = checksum_size + after_checksum.size();
  if (text.size() < end) return false;
  const std::string_view covered = text.substr(0, text.size() - end);
  return covered.ends_with(before_checksum) &&
         text.substr(covered.size()) == checksum_of(covered) + std::string(after_checksum);
}

std::string_view in_place_of_fingerprints(FingerprintPlace place) {
  switch (place) {
    case FingerprintPlace::report:
      return "in the report of the job, which wrote this to a pipe";
    case FingerprintPlace::views:
      return "none: the files show data of others, and have none of their own";
    case FingerprintPlace::nowhere:
    case FingerprintPlace::manifest:
      break;
  }
  return "";
}

std::string manifest(const Placement& placement, const std::vector<ManifestFile>& files,
                     const std::vector<Fingerprint>& fingerprints, const std::optional<ManifestRoom>& room,
                     FingerprintPlace place, const std::vector<ManifestTable>& tables,
                     const std::vector<ManifestFile>& sidecars, const ManifestHistory& history) {
  std::string text = beginning(placement.layout());
  if (!history.names.empty()) text += ",\n \"names\": " + history.names;
  if (!history.averaged.empty()) text += ",\n \"averaged\": " + history.averaged;
  if (!history.merged_by.empty()) text += ",\n \"merged_by\": " + history.merged_by;
  while (text.back() == '\n') text.pop_back();
  if (const auto why = in_place_of_fingerprints(place); !why.empty())
    text += ",\n \"fingerprints\": " + quoted(std::string(why));
  text += ",\n" + (room ? single(files.front(), *room) : list_of(files) + list_sidecars(sidecars));
  add_parameters(placement, fingerprints, text);
  add_tables(tables, text);
  const std::uint64_t end = text.size() + before_checksum.size() + checksum_size + after_checksum.size();
  if (room && end < room->bytes) text.append(room->bytes - end, ' ');
  return sealed(std::move(text));
}

std::string manifest(const Layout& layout, const std::vector<ManifestFile>& files,
                     const std::vector<ManifestTable>& tables) {
  std::string text = beginning(layout) + ",\n" + list_of(files) + " \"parameters\": {\n },\n";
  add_tables(tables, text);
  return sealed(std::move(text));
}

std::string provisional_manifest(const Placement& placement, FingerprintPlace fingerprints,
                                 const std::vector<ManifestTable>& tables, const ManifestHistory& history) {
  const bool with_fingerprints = fingerprints == FingerprintPlace::manifest;
  return manifest(placement, {longest("", with_fingerprints)}, any_fingerprints(placement, with_fingerprints),
                  ManifestRoom{largest, least_manifest_bytes}, fingerprints, tables, {}, history);
}

void check_manifest_size(const Placement& placement, bool is_single_file, bool with_fingerprints,
                         std::uint64_t most_bytes) {
  // Builds the text only if this estimate says that it may be too large.
  const CardFiles& files_of = placement.layout().files;
  std::uint64_t most = to_json(placement.layout()).size() + (files_of.count(placement.mesh()) + 1) * most_file_bytes;
  for (const Tensor& tensor : placement.tensors())
    most += longest_escape * (tensor.name.size() + tensor.dtype.name.str().size()) + most_parameter_bytes;
  if (most <= most_bytes) return;
  std::vector<ManifestFile> files;
  if (!is_single_file)
    for (std::string& name : files_of.paths(placement.mesh()))
      files.push_back(longest(std::move(name), with_fingerprints));
  const std::uint64_t bytes =
      (is_single_file
           ? provisional_manifest(placement, with_fingerprints ? FingerprintPlace::manifest : FingerprintPlace::nowhere)
           : manifest(placement, files, any_fingerprints(placement, with_fingerprints)))
          .size();
  if (bytes > most_bytes)
    throw Error(Kind::input, "the output's manifest",
                {"its " + std::to_string(placement.tensors().size()) + " parameters would take " + format_bytes(bytes),
                 "at most " + format_bytes(most_bytes),
                 "take fewer of them",
                 {Advice::What::choose_others, ""}});
}

std::vector<ManifestFile> gather_list(const std::vector<ManifestFile>& mine, Communicator& processes) {
  return gather_at_first(mine, processes);
}

}  // namespace ckpt
