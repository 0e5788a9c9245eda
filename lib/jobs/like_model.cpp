#include "jobs/like_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/json.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/read_manifest.hpp"
#include "io/small_text.hpp"
#include "jobs/types/casts.hpp"
#include "layout/placement/number_ties.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_index_bytes = 256ULL << 20;
constexpr std::uint64_t most_copied_bytes = 256ULL << 20;  // of one file: a tokenizer has some tens of MiB

std::filesystem::path directory_of(const std::filesystem::path& place) {
  std::error_code none;
  return std::filesystem::is_directory(place, none) ? place : place.parent_path();
}

/// Whether a file's name is that of weights, of their index or of a manifest.
bool is_of_weights(const std::string& name) {
  for (const char* ending : {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".hdf5", ".msgpack", ".gguf",
                             ".onnx", ".index.json", ".partial"})
    if (name.ends_with(ending)) return true;
  return name == manifest_name || name.starts_with('.');
}

/// Returns a config.json without its `quantization_config`.
std::string without_quantisation(const std::string& text, const std::string& origin) {
  constexpr const char* key = "quantization_config";
  parse_json(text, origin, {Kind::input, "a model's config.json", ""});  // within its limits
  auto json = nlohmann::ordered_json::parse(text);
  bool is_changed = json.is_object() && json.erase(key) != 0;
  if (json.is_object() && json.contains("text_config") && json["text_config"].is_object())
    is_changed = json["text_config"].erase(key) != 0 || is_changed;
  return is_changed ? json.dump(2) + "\n" : text;
}

/// Returns a config.json that names this dtype for the weights, if it named another one: a loader follows it.
std::string with_dtype(const std::string& text, const std::string& origin, const std::string& dtype) {
  parse_json(text, origin, {Kind::input, "a model's config.json", ""});  // within its limits
  auto json = nlohmann::ordered_json::parse(text);
  bool is_changed = false;
  const auto set = [&](nlohmann::ordered_json& object) {
    for (const char* key : {"dtype", "torch_dtype"})
      if (object.is_object() && object.contains(key) && object[key].is_string() && object[key] != dtype) {
        object[key] = dtype;
        is_changed = true;
      }
  };
  set(json);
  if (json.is_object() && json.contains("text_config")) set(json["text_config"]);
  return is_changed ? json.dump(2) + "\n" : text;
}

}  // namespace

std::string config_dtype(const std::vector<Tensor>& tensors) {
  static const std::map<std::string, std::string> names{
      {"f64", "float64"}, {"f32", "float32"}, {"bf16", "bfloat16"}, {"f16", "float16"}};
  std::string found;
  for (const Tensor& tensor : tensors) {
    const auto format = number_format(tensor.dtype);
    if (!format || !format->is_float) continue;
    const auto name = names.find(tensor.dtype.name.str());
    if (name == names.end() || (!found.empty() && found != name->second)) return "";
    found = name->second;
  }
  return found;
}

ModelDirectory ModelDirectory::at(std::filesystem::path place) {
  ModelDirectory model;
  std::error_code none;
  place = directory_of(std::move(place));
  for (const auto& entry : std::filesystem::directory_iterator(place, none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors.index.json")) {
      const std::string origin = entry.path().string();
      const auto json = parse_json(small_text(entry.path(), most_index_bytes, "an index of weights"), origin,
                                   {Kind::input, "an index of weights", ""});
      const auto map = json.find("weight_map");
      if (map == json.end() || !map->is_object())
        throw Error(Kind::input, origin, {"it has no weight_map", "an index of weights", ""});
      for (const auto& [tensor, file] : map->items())
        if (file.is_string()) model.file_of[tensor] = file.get<std::string>();
    } else if (entry.is_regular_file(none) && !is_of_weights(name) && entry.file_size(none) <= most_copied_bytes) {
      model.others.push_back(name);
    }
  }
  std::sort(model.others.begin(), model.others.end());
  return model;
}

void ModelDirectory::dequantise(const std::map<std::string, std::string>& weights_of_codes) {
  for (const auto& [codes, weight] : weights_of_codes)
    if (const auto file = file_of.find(codes); file != file_of.end()) file_of.emplace(weight, file->second);
  std::erase_if(others, [](const std::string& name) {
    return name == "hf_quant_config.json" || name == "quantize_config.json" || name == "quant_config.json";
  });
}

std::vector<Sidecar> copies_of(std::filesystem::path place, const std::vector<std::string>& names, bool is_dequantised,
                               const std::string& dtype) {
  place = directory_of(std::move(place));
  std::vector<Sidecar> copies;
  for (const std::string& name : names) {
    std::string text = small_text(place / name, most_copied_bytes, "a file beside a model's weights");
    if (name == "config.json") {
      if (is_dequantised) text = without_quantisation(text, (place / name).string());
      if (!dtype.empty()) text = with_dtype(text, (place / name).string(), dtype);
    }
    copies.push_back({name, std::move(text)});
  }
  return copies;
}

namespace {

constexpr std::size_t code_bytes = 1;  // 8-bit floats are codes, which mean something only with a scale

[[noreturn]] void refuse_codes(const ExpectedTensors& expected, const Tensor& tensor, const DType& wanted) {
  const bool are_sources = number_format(tensor.dtype)->size == code_bytes;
  const DType& codes = are_sources ? tensor.dtype : wanted;
  throw Error(Kind::input, "parameter '" + tensor.name.str() + "'",
              {"it is " + tensor.dtype.name.str() + ", and " + wanted.name.str() + " in " + expected.origin() + ": " +
                   codes.name.str() + " are codes of a quantised weight",
               "codes or numbers on both sides",
               are_sources ? "give --dequantize bf16" : "give a model whose weights are numbers"});
}

}  // namespace

std::string cast_as_expected(const ExpectedTensors& expected, const std::vector<CastRule>& casts,
                             const Placement& source, Selection& selection) {
  std::uint64_t count = 0;
  std::uint64_t rounded = 0;
  std::optional<DType> widest;                 // of those that are rounded
  std::vector<std::optional<NumberTie>> ties;  // once they are wanted
  for (std::size_t i = 0; i < selection.tensors.size(); ++i) {
    Tensor& tensor = selection.tensors[i];
    const std::optional<DType> wanted = expected.dtype(tensor.name);
    if (!wanted || *wanted == tensor.dtype) continue;
    const std::string& read = source.tensors()[selection.source_of[i]].name;
    if (std::ranges::any_of(casts, [&](const CastRule& rule) { return rule.names.matches(read); })) continue;
    const auto from = number_format(tensor.dtype);
    const auto to = number_format(*wanted);
    if (!from || !to || !from->is_float || !to->is_float) continue;
    if (from->size == code_bytes || to->size == code_bytes) refuse_codes(expected, tensor, *wanted);
    if (ties.empty()) ties = number_ties(source.tensors());
    if (ties[selection.source_of[i]]) continue;  // a scale's numbers belong to codes
    if (to->size <= from->size) {
      ++rounded;
      if (!widest || widest->size < from->size) widest = tensor.dtype;
    }
    tensor.dtype = *wanted;
    ++count;
  }
  if (count == 0) return "";
  const std::string all = std::to_string(count) + " parameters are ";
  const std::string where = " the dtypes of " + expected.origin();
  if (!widest) return all + "cast to" + where;
  const std::string advice = "; --cast " + widest->name.str() + " keeps all digits";
  if (rounded == count) return all + "rounded to" + where + advice;
  return all + "cast to" + where + ", " + std::to_string(rounded) + " of them rounded" + advice;
}

}  // namespace ckpt
