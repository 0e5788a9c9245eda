#include "engine/manifest.hpp"

#include <nlohmann/json.hpp>

namespace ckpt {

std::string manifest(const Placement& placement, const std::vector<ManifestFile>& files,
                     const std::vector<Fingerprint>& fingerprints) {
  nlohmann::ordered_json json;
  json["ckpt_manifest"] = 1;
  json["tool"] = "ckpt-reshard";
  json["version"] = CKPT_VERSION;
  json["layout"] = nlohmann::ordered_json::parse(to_json(placement.layout()));
  if (!files.empty()) {
    auto& list = json["files"] = nlohmann::ordered_json::array();
    for (const ManifestFile& file : files) {
      list.push_back({{"name", file.name}, {"card", file.card}, {"bytes", file.bytes}});
      if (!file.fingerprint.empty()) list.back()["fingerprint"] = file.fingerprint;
    }
  }
  json["parameters"] = nlohmann::ordered_json::object();
  auto& parameters = json["parameters"].get_ref<nlohmann::ordered_json::object_t&>();
  parameters.reserve(placement.tensors().size());
  for (ParameterId p = 0; p < placement.tensors().size(); ++p) {
    const Tensor& tensor = placement.tensors()[p];
    nlohmann::ordered_json parameter = {
        {"dtype", tensor.dtype.name}, {"shape", std::vector<std::uint64_t>(tensor.shape.begin(), tensor.shape.end())}};
    if (!fingerprints.empty()) parameter["fingerprint"] = to_string(fingerprints[p]);
    // No name comes twice; [] would look through all that are there.
    parameters.emplace_back(tensor.name, std::move(parameter));
  }
  return json.dump(1) + "\n";
}

std::vector<ManifestFile> gather_list(const std::vector<ManifestFile>& mine, Communicator& processes) {
  auto json = nlohmann::json::array();
  for (const ManifestFile& file : mine) json.push_back({file.name, file.card, file.bytes, file.fingerprint});
  std::vector<std::string> to_peer(static_cast<std::size_t>(processes.size()));
  to_peer[0] = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::vector<ManifestFile> list;
  for (const std::string& text : processes.all_to_all(std::move(to_peer)))
    if (!text.empty())
      for (const auto& file : nlohmann::json::parse(text)) list.push_back({file[0], file[1], file[2], file[3]});
  return list;
}

}  // namespace ckpt
