#include "output/job_description.hpp"

#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "checkpoint/dequantised_files.hpp"

namespace ckpt {

namespace {

using Json = nlohmann::json;

/// Sizes and times of files by name, with `before` as a prefix.
Json files_of(const Checkpoint& source, const std::string& before) {
  Json files = Json::object();
  for (FileNumber file = 0; file < source.files().size(); ++file)
    if (source.is_there(file)) {
      Json& versions =
          files[before + source.file_name(file)] = {source.file(file).bytes, source.file(file).modified_ns};
      for (const FileCatalog::Version& viewed : source.file(file).viewed) {
        versions.push_back(viewed.bytes);
        versions.push_back(viewed.modified_ns);
      }
    }
  return files;
}

/// What determines the numbers of quantised weights, apart from their files.
Json json_of(const Dequantisation& how) {
  const QuantisationConfig& config = how.config;
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json json{{"dtype", how.dtype.name.str()},
            {"config",
             {config.method, config.format, config.version, number(config.block), number(config.group),
              number(config.bits), config.is_reordered}}};
  for (const auto& [place, text] : how.texts) json["texts"].push_back(text);
  return json;
}

}  // namespace

std::string describe_job(const std::vector<const Checkpoint*>& sources, const Planner& planner, bool is_single_file,
                         bool is_verified, const std::vector<ManifestTable>& tables, const std::string& map,
                         const std::string& averaged, bool is_placed_as_source) {
  Json description;
  description["ckpt_journal"] = 1;
  description["version"] = CKPT_VERSION;
  description["from"] = Json::parse(to_json(planner.source().layout()));
  description["to"] = Json::parse(to_json(planner.target().layout()));
  description["single_file"] = is_single_file;
  description["verify"] = is_verified;
  if (is_placed_as_source) description["placed_as_source"] = true;
  auto& parameters = description["parameters"] = Json::object();
  for (ParameterId p = 0; p < planner.target().tensors().size(); ++p)
    parameters[planner.target().tensors()[p].name] = planner.source().tensors()[planner.source_of(p)].name;
  auto& dtypes = description["dtypes"] = Json::object();
  for (const Tensor& tensor : planner.target().tensors()) dtypes[tensor.name] = tensor.dtype.name;
  auto& kept = description["kept"] = Json::object();
  for (const ManifestTable& table : tables)
    if (table.kept) kept[table.name] = {table.kept->where, table.kept->as};
  if (!map.empty()) description["names"] = Json::parse(map);
  if (!averaged.empty()) description["averaged"] = Json::parse(averaged);
  auto& layers = description["layers"] = Json::array();
  auto& files = description["files"] = Json::object();
  for (const Checkpoint* each : sources) {
    const bool is_alone = sources.size() == 1;
    const std::string path = each->path().string();
    if (!is_alone) layers.push_back({path, Json::parse(to_json(each->layout()))});
    files.update(files_of(*each, is_alone ? "" : path + "/"));
    if (each->dequantised() != nullptr) description["dequantised"].push_back(json_of(each->dequantised()->how()));
  }
  return description.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void check_same_job(const std::string& earlier, const std::string& now, const std::string& partial) {
  const Json before = Json::parse(earlier, nullptr, false);
  const Json after = Json::parse(now, nullptr, false);
  if (before == after) return;
  std::string what = "another job";
  const bool has_files = before.is_object() && before.contains("files") && before["files"].is_object();
  if (has_files)
    for (const auto& [name, facts] : after["files"].items())
      if (before["files"].contains(name) && before["files"][name] != facts) {
        what = "this job before " + name + " changed (its size or its time)";
        break;
      }
  if (what == "another job" && before.is_object())
    for (const auto& [key, difference] : {std::pair{"version", "another version of the program"},
                                          {"from", "another source layout"},
                                          {"to", "another target layout"},
                                          {"verify", "another way of verifying"},
                                          {"parameters", "other parameters"},
                                          {"dtypes", "other dtypes"},
                                          {"names", "another map of names"},
                                          {"averaged", "other checkpoints to average, or other weights"},
                                          {"dequantised", "another --dequantize, or another quantization_config"},
                                          {"layers", "other deltas"},
                                          {"placed_as_source", "an output on another file system"},
                                          {"kept", "other rows to keep (--keep)"},
                                          {"text", "another way of making text (--digits, layouts, datasets)"},
                                          {"files", "other source files"}})
      if (before.value(key, Json()) != after.value(key, Json())) {
        what = std::string("a job with ") + difference;
        break;
      }
  throw Error(Kind::input, partial,
              {"it was left by " + what, "the same job, to resume", "", {Advice::What::restart, ""}})
      .in_file(partial);
}

bool begin_job(Output& output, bool wants_to_go_on, const std::string& description, bool is_verified) {
  const auto earlier = output.earlier_job();
  if (earlier) check_same_job(*earlier, description, output.partial().string());
  const bool go_on = earlier && is_verified;
  if (wants_to_go_on && !go_on) log::info("there is nothing to resume: the job starts from the beginning");
  output.begin(description, go_on);
  return go_on;
}

}  // namespace ckpt
