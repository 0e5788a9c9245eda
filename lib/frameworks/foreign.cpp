#include "frameworks/foreign.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <system_error>
#include <vector>

namespace ckpt {

namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

Names listed(const fs::path& directory) {
  Names names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool any_listed(const Names& names, const std::regex& form) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return std::regex_match(name, form); });
}

bool is_listed(const Names& names, const std::string& name) {
  return std::binary_search(names.begin(), names.end(), name);
}

std::string first_listed(const Names& names, const std::regex& form) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const std::string& name) { return std::regex_match(name, form); });
  return found == names.end() ? "" : *found;
}

std::optional<ForeignDirectory> zarr(const fs::path& directory, const Names& names) {
  const auto is_array = [&](const std::string& name) {
    std::error_code none;
    return fs::exists(directory / name / ".zarray", none) || fs::exists(directory / name / "zarr.json", none);
  };
  if (!is_listed(names, ".zarray") && !is_listed(names, "zarr.json") &&
      std::none_of(names.begin(), names.end(), is_array))
    return std::nullopt;
  return ForeignDirectory{"a directory of zarr arrays, as T5X and PaxML write them",
                          "restore it with what has written it, and save its arrays with safetensors.numpy.save_file"};
}

/// TensorFlow's other files. A bundle with its index is not among them: it is read.
std::optional<ForeignDirectory> tensorflow(const fs::path& /*directory*/, const Names& names) {
  static const std::regex data(R"((.*)\.data-\d{5,}-of-\d{5,})");
  static const std::regex being_saved(R"((.*)_temp_?[0-9a-f]*)");
  std::smatch found;
  const std::string file = first_listed(names, data);
  if (std::regex_match(file, found, data)) {
    const std::string index = std::string(found[1]) + ".index";
    if (is_listed(names, index)) return std::nullopt;
    return ForeignDirectory{"a checkpoint of TensorFlow without " + index + ", which is written last",
                            "copy that file, too; where it never was, the save did not end"};
  }
  if (is_listed(names, "saved_model.pb"))
    return ForeignDirectory{"a SavedModel of TensorFlow without variables/variables.index",
                            "copy its folder variables, too"};
  const std::string folder = first_listed(names, being_saved);
  if (std::regex_match(folder, found, being_saved) && folder.find(".ckpt") != std::string::npos)
    return ForeignDirectory{"a checkpoint of TensorFlow that was not finished (" + folder + ")",
                            "take the one of another step: TensorFlow merges the parts of such a folder at the end"};
  return std::nullopt;
}

std::optional<ForeignDirectory> others(const fs::path& /*directory*/, const Names& names) {
  struct Kind {
    std::regex form;
    const char* what;
    const char* remedy;
  };
  const char* const made_from = "take the checkpoint that it was made from";
  static const std::array kinds{Kind{std::regex(R"(.*\.onnx)"), "a model in ONNX", made_from},
                                Kind{std::regex(R"(.*\.msgpack)"), "a checkpoint of Flax (MessagePack)",
                                     "load it with Flax, and save it with safetensors.flax.save_file"},
                                Kind{std::regex(R"(.*\.mlmodel|.*\.mlpackage)"), "a model of Core ML", made_from},
                                Kind{std::regex(R"(.*\.engine|.*\.plan)"), "an engine of TensorRT", made_from},
                                Kind{std::regex(R"(.*\.tflite)"), "a model of TensorFlow Lite", made_from}};
  for (const Kind& kind : kinds)
    if (any_listed(names, kind.form)) return ForeignDirectory{kind.what, kind.remedy};
  return std::nullopt;
}

}  // namespace

std::optional<ForeignDirectory> foreign_prefix(const fs::path& prefix) {
  const std::string begin = prefix.filename().string() + ".";
  if (begin.size() == 1) return std::nullopt;
  Names names = listed(prefix.has_parent_path() ? prefix.parent_path() : ".");
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(begin); });
  return tensorflow(prefix.parent_path(), names);
}

std::optional<ForeignDirectory> foreign_directory(const fs::path& directory) {
  const Names names = listed(directory);
  for (const auto recognise : {zarr, tensorflow, others})
    if (auto found = recognise(directory, names)) return found;
  return std::nullopt;
}

}  // namespace ckpt
