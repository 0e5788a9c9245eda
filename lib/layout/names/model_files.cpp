#include "layout/names/model_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/names/literal.hpp"

namespace ckpt {

namespace {

/// Returns the names that transformers looks for: "model" and ".safetensors", or for torch's files "pytorch_model" and
/// ".bin".
std::pair<std::string, std::string> stem_and_ending(std::string_view ending) {
  if (ending == ".pt" || ending == ".bin") return {"pytorch_model", ".bin"};
  return {"model", std::string(ending)};
}

/// Distributes the tensors; returns the names in each file.
std::vector<std::vector<std::string>> shared_out(const std::vector<Tensor>& tensors, std::uint64_t most_bytes) {
  std::vector<const Tensor*> order;
  for (const Tensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const Tensor* a, const Tensor* b) { return natural_less(a->name, b->name); });
  std::vector<std::vector<std::string>> files(1);
  std::uint64_t left = most_bytes;
  for (const Tensor* tensor : order) {
    const std::uint64_t bytes = tensor->bytes();
    if (bytes > left && !files.back().empty()) {
      files.emplace_back();
      left = most_bytes;
    }
    files.back().push_back(tensor->name);
    left -= std::min(left, bytes);
  }
  return files;
}

Layout layout_of_files(const std::vector<std::vector<std::string>>& files, std::string_view ending) {
  Layout layout;
  layout.origin = "the layout of a model in " + std::to_string(files.size()) + (files.size() == 1 ? " file" : " files");
  layout.mesh = Mesh{{"file"}, {files.size()}, {}};
  const auto [stem, written] = stem_and_ending(ending);
  std::string path = stem + written;
  if (files.size() > 1) {
    layout.mesh.cards.resize(files.size());
    std::iota(layout.mesh.cards.begin(), layout.mesh.cards.end(), std::uint64_t{1});  // as the files are numbered
    path = fmt::format("{}-{{card:05}}-of-{:05}{}", stem, files.size(), written);
  }
  layout.files = CardFiles({{FileTemplate(path, layout.mesh), ""}});
  for (std::uint64_t file = 0; file < files.size(); ++file) {
    Rule& rule = layout.parameters.emplace_back();
    for (const std::string& name : files[file]) rule.names.emplace_back(literal(name));
    rule.keys.at = At{{0, {file}}};
  }
  return layout;
}

}  // namespace

Layout model_files(const std::vector<Tensor>& tensors, std::uint64_t most_bytes, std::string_view ending) {
  const auto files = shared_out(tensors, most_bytes);
  if (files.size() > max_cards)
    throw Error(Kind::usage, "",
                {fmt::format("{} files of at most {} each", files.size(), format_bytes(most_bytes)),
                 fmt::format("at most {}", max_cards), "allow larger ones"});
  return layout_of_files(files, ending);
}

Layout model_files_by_group(const std::vector<Tensor>& tensors, const std::map<std::string, std::string>& group_of,
                            std::string_view ending) {
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<std::string> others;
  for (const Tensor& tensor : tensors) {
    const auto group = group_of.find(tensor.name);
    (group == group_of.end() ? others : groups[group->second]).push_back(tensor.name);
  }
  std::vector<std::vector<std::string>> files;
  for (auto& [group, names] : groups) files.push_back(std::move(names));
  if (files.empty()) files.emplace_back();
  files.back().insert(files.back().end(), others.begin(), others.end());
  return layout_of_files(files, ending);
}

std::string model_index_name(std::string_view ending) {
  const auto [stem, written] = stem_and_ending(ending);
  return stem + written + ".index.json";
}

std::string model_index(const Placement& placement) {
  nlohmann::ordered_json index;
  nlohmann::json weights = nlohmann::json::object();  // sorted by name
  std::uint64_t total = 0;
  for (const ArrayPlace& array : placement.arrays()) {
    const ParameterId parameter = array.members.front();
    placement.for_each_first(
        parameter, [&](Position card) { weights[array.name] = placement.layout().files.path(placement.mesh(), card); });
    total += placement.tensors()[parameter].bytes();
  }
  index["metadata"] = {{"total_size", total}};
  index["weight_map"] = std::move(weights);
  return index.dump(2) + "\n";
}

}  // namespace ckpt
