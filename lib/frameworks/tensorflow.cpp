#include "frameworks/tensorflow.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "frameworks/cut_rules.hpp"
#include "frameworks/piece_files.hpp"
#include "io/posix_file.hpp"
#include "store/tensorflow/read_bundle.hpp"
#include "store/tensorflow/table.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;
using tensorflow::BundlePlace;

/// The list of the last checkpoints; what is larger is none.
constexpr std::uintmax_t most_state_bytes = 1 << 20;
constexpr const char* saved_variables = "variables";  // the folder and prefix in a SavedModel

bool is_plain(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// While a checkpoint is saved, each device's part is a bundle, "model.ckpt_temp_5d1f/part-00000-of-00004".
bool is_of_unfinished_save(const std::string& prefix) {
  static const std::regex form(R"(part-\d{5,}-of-\d{5,})");
  return std::regex_match(prefix, form);
}

bool is_table(const fs::path& path) {
  if (!is_plain(path)) return false;
  try {
    const PosixFile file = PosixFile::open_for_reading(path);
    return tensorflow::ends_as_table(file, file.status().bytes);
  } catch (const Error&) {
    return false;  // what reads it next reports that
  }
}

std::optional<BundlePlace> named_bundle(const fs::path& path) {
  const std::string name = path.filename().string();
  const fs::path directory = directory_of(path);
  if (name.ends_with(tensorflow::index_ending) && is_table(path))
    return BundlePlace{directory, name.substr(0, name.size() - tensorflow::index_ending.size())};
  if (auto prefix = tensorflow::prefix_of_data(name); prefix && is_table(BundlePlace{directory, *prefix}.index()))
    return BundlePlace{directory, std::move(*prefix)};
  std::error_code none;
  if (name.empty() || fs::exists(path, none) || !is_plain(BundlePlace{directory, name}.index())) return std::nullopt;
  return BundlePlace{directory, name};
}

/// A text of protobuf's text format, up to its closing quote. Bytes beyond ASCII may be octal numbers.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      plain += text[at];
      continue;
    }
    constexpr std::size_t octal_digits = 3;
    const std::size_t digits =
        std::min(text.substr(at + 1).find_first_not_of("01234567"), std::min(octal_digits, text.size() - at - 1));
    if (digits == 0) {
      plain += text[++at];  // a quote or a backslash
      continue;
    }
    unsigned byte = 0;
    for (std::size_t i = 0; i < digits; ++i) byte = byte * 8 + static_cast<unsigned>(text[at + 1 + i] - '0');
    plain += static_cast<char>(byte);
    at += digits;
  }
  return plain;
}

/// The prefixes of the bundles in a directory of which the index and a data file are there.
std::vector<std::string> bundles_in(const fs::path& directory) {
  std::set<std::string, decltype(&natural_less)> prefixes(&natural_less);
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (auto prefix = tensorflow::prefix_of_data(it->path().filename().string());
        prefix && is_plain(BundlePlace{directory, *prefix}.index()))
      prefixes.insert(std::move(*prefix));
  return {prefixes.begin(), prefixes.end()};
}

bool is_saved_model(const fs::path& directory) {
  return is_plain(BundlePlace{directory / saved_variables, saved_variables}.index()) &&
         (is_plain(directory / "saved_model.pb") || is_plain(directory / "saved_model.pbtxt") ||
          is_plain(directory / "keras_metadata.pb"));
}

BundlePlace chosen_bundle(const fs::path& directory) {
  const std::vector<std::string> prefixes = bundles_in(directory);
  if (prefixes.empty()) return {directory / saved_variables, saved_variables};
  const std::string newest = newest_tensorflow_prefix(directory / "checkpoint");
  const auto found = std::find(prefixes.begin(), prefixes.end(), newest);
  if (found == prefixes.end() && (prefixes.size() > 1 || !newest.empty()))
    throw Error(Kind::input, directory.string(),
                {"it holds " +
                     (prefixes.size() == 1
                          ? "the checkpoint " + prefixes.front() + " of TensorFlow"
                          : std::to_string(prefixes.size()) + " checkpoints of TensorFlow: " + join(prefixes)) +
                     (newest.empty() ? "" : ", and its file `checkpoint` names " + newest + ", which is not there"),
                 "one that is meant", "give " + shell_word(BundlePlace{directory, prefixes.back()}.index().string())});
  const std::string prefix = newest.empty() ? prefixes.front() : newest;
  if (prefixes.size() > 1)
    log::info("{}: {} is taken, which its file `checkpoint` names as the newest of {}", directory.string(), prefix,
              prefixes.size());
  return {directory, prefix};
}

std::vector<CutTensor> cut_tensors(const tensorflow::Bundle& bundle, const PieceFiles& files) {
  std::vector<CutTensor> tensors;
  tensors.reserve(bundle.tensors.size());
  for (const tensorflow::BundleTensor& tensor : bundle.tensors) {
    CutTensor cut{tensor.name, tensor.shape, {}};
    for (const tensorflow::BundlePiece& piece : tensor.pieces)
      cut.held.push_back({files.card(piece.file, piece.slot), piece.box});
    tensors.push_back(std::move(cut));
  }
  return tensors;
}

/// The data files beside a bundle's that other indexes of the directory describe: those of other steps.
std::vector<std::string> files_of_other_bundles(const BundlePlace& place) {
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(place.directory, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    const auto prefix = tensorflow::prefix_of_data(name);
    if (prefix && *prefix != place.prefix && is_plain(BundlePlace{place.directory, *prefix}.index()))
      others.push_back(std::move(name));
  }
  return others;
}

/// "model.ckpt.data-{card:05}-of-00004", which describes the files if all of them hold something.
std::string usual_name(const BundlePlace& place, std::size_t files) {
  if (place.prefix.find_first_of("{}*") != std::string::npos) return "";
  std::string name = tensorflow::data_name(place.prefix, 0, files);
  const std::string first = "-00000-";
  return name.replace(name.rfind(first), first.size(), "-{card:05}-");
}

}  // namespace

bool is_tensorflow_prefix(const fs::path& path) {
  return named_bundle(path).has_value();
}

bool is_tensorflow(const fs::path& directory) {
  return !bundles_in(directory).empty() || is_saved_model(directory);
}

bool is_unfinished_tensorflow(const fs::path& directory) {
  const std::vector<std::string> prefixes = bundles_in(directory);
  return !prefixes.empty() && std::ranges::all_of(prefixes, is_of_unfinished_save);
}

std::string newest_tensorflow_prefix(const fs::path& state_file) {
  constexpr std::string_view key = "model_checkpoint_path: \"";
  std::error_code error;
  if (!is_plain(state_file) || fs::file_size(state_file, error) > most_state_bytes) return "";
  std::ifstream in(state_file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key))
      return fs::path(unescaped(std::string_view(line).substr(key.size()))).filename().string();
  return "";
}

DirectoryDescription describe_tensorflow(const fs::path& path, SourceStore& /*store*/) {
  const auto named = named_bundle(path);
  const BundlePlace place = named ? *named : chosen_bundle(path);
  if (is_of_unfinished_save(place.prefix))
    throw Error(Kind::input, place.index().string(),
                {"one part of a checkpoint whose save did not end", "a finished checkpoint of TensorFlow",
                 "take another one: TensorFlow joins the parts when all are saved"});
  const fs::path directory = named ? named->directory : path;
  tensorflow::BundleContents contents = tensorflow::read_bundle(place);
  const std::string index = place.index().string();
  if (contents.bundle.files.empty())
    throw Error(Kind::input, index, {"names no tensor", "at least one", "take another checkpoint"});
  std::vector<std::string> paths;
  const fs::path below = place.directory.lexically_relative(directory);
  for (const std::string& name : contents.bundle.files) paths.push_back(below == "." ? name : (below / name).string());
  const std::size_t count = paths.size();
  const PieceFiles files(std::move(paths), contents.slots, index);
  DirectoryDescription described = files.described(cut_tensors(contents.bundle, files),
                                                   {.metadata = index,
                                                    .origin = "what " + index + " says of itself",
                                                    .usual = below == "." ? usual_name(place, count) : "",
                                                    .elsewhere = Uneven::balanced},
                                                   [&] { return std::move(contents.catalogs); });
  if (below == ".") described.others = files_of_other_bundles(place);
  return described;
}

}  // namespace ckpt
