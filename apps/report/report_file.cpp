#include "report/report_file.hpp"

#include <cctype>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "processes/communicator.hpp"
#include "report/json_text.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

using Json = nlohmann::ordered_json;

Json rules_json(const std::vector<Report::RuleUse>& rules) {
  Json list = Json::array();
  for (const auto& use : rules) {
    Json names = Json::array();
    for (const InternedText& name : use.parameters) names.push_back(name.str());
    list.push_back({{"rule", use.rule}, {"parameters", std::move(names)}});
  }
  return list;
}

Json libraries_json() {
  Json versions = Json::object();
  for (const Format& format : formats())
    if (format.library_version != nullptr) versions[std::string(format.name)] = format.library_version();
  versions["mpi"] = mpi_version();
  return versions;
}

Json json_of(const ReportedJob& reported, const char* status) {
  const ReshardJob& job = reported.job;
  return {{"program", reported.program},
          {"version", CKPT_VERSION},
          {"status", status},
          {"libraries", libraries_json()},
          {"source", job.source.path.string()},
          {"output", job.output.path.empty() ? Json() : Json(job.output.path.string())},
          {"dry_run", job.dry_run},
          {"memory_bytes", job.resources.memory_bytes},
          {"warnings", reported.warnings}};
}

Json overflows_json(const std::vector<Overflow>& overflows) {
  Json list = Json::array();
  for (const Overflow& each : overflows)
    list.push_back({{"parameter", each.parameter}, {"dtype", each.dtype}, {"elements", each.elements}});
  return list;
}

Json tables_json(const std::vector<Report::TableUse>& tables) {
  Json list = Json::array();
  for (const Report::TableUse& table : tables) {
    list.push_back({{"name", table.name}, {"row_bytes", table.row_bytes}, {"rows", table.rows}});
    for (const TableLayerFacts& layer : table.layers)
      list.back()["layers"].push_back({{"path", layer.path}, {"rows", layer.rows}, {"taken", layer.taken}});
    if (!table.kept) continue;
    const KeptRows& kept = *table.kept;
    Json& json = list.back()["kept"] = {{"of", kept.of}, {"dropped_with_nan", kept.dropped_with_nan}};
    if (!kept.where.empty()) json["where"] = kept.where;
    if (!kept.as.empty()) json["as"] = kept.as;
  }
  return list;
}

const char* word(Kind kind) {
  switch (kind) {
    case Kind::usage:
      return "usage";
    case Kind::layout:
      return "layout";
    case Kind::input:
      return "input";
    case Kind::io:
      return "io";
    case Kind::peer:
      return "peer";
    case Kind::interrupted:
      return "interrupted";
    case Kind::terminated:
      return "terminated";
  }
  return "";
}

}  // namespace

std::string failure_json(const ReportedJob& job, const Failure& failure) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  const Error& error = failure.error;
  Json json = json_of(job, "failed");
  json["error"] = {{"kind", word(error.kind())},           {"exit_status", failure.exit_status},
                   {"message", failure.message},           {"object", text(error.object())},
                   {"found", text(error.text().found)},    {"expected", text(error.text().expected)},
                   {"remedy", text(failure.remedy)},       {"file", text(error.file())},
                   {"parameter", text(error.parameter())}, {"details", failure.details}};
  return json_text(std::move(json)) + "\n";
}

std::string report_json(const ReportedJob& job, const Report& report, std::uint64_t peak_bytes) {
  Json json = json_of(job, "done");
  if (!report.format.empty()) json["format"] = report.format;
  json["exchange"] = report.exchange;
  json["processes"] = report.processes;
  json["threads"] = report.threads;
  json["source_cards"] = report.source_cards;
  json["target_cards"] = report.target_cards;
  json["source_files"] = report.source_files;
  json["target_files"] = report.target_files;
  json["parameters"] = report.parameters;
  json["cast_parameters"] = report.cast_parameters;
  json["tensor_bytes"] = report.tensor_bytes;
  json["bytes_to_write"] = report.bytes_to_write;
  if (job.job.dry_run) {  // known only from the summary of the whole plan
    json["bytes_to_read"] = report.bytes_to_read;
    json["bytes_changing_card"] = report.bytes_changing_card;
    json["busiest_process"] = report.busiest_process;
    json["busiest_process_bytes"] = report.busiest_process_bytes;
    json["peak_bytes"] = report.peak_bytes;
  }
  json["staging_bytes"] = report.staging_bytes;
  json["bytes_read"] = report.bytes_read;
  json["bytes_exchanged"] = report.bytes_exchanged;
  for (std::size_t rank = 0; rank < report.messages.size(); ++rank) {
    const auto& [within_host, between_hosts] = report.messages[rank];
    Json& sent = json["messages"].emplace_back(Json{{"within_host", within_host}, {"between_hosts", between_hosts}});
    if (const std::string& host = report.hosts[rank]; !host.empty()) sent["host"] = host;
  }
  json["bytes_written"] = report.bytes_written;
  json["bytes_cloned"] = report.bytes_cloned;
  json["bytes_resumed"] = report.bytes_resumed;
  json["virtual"] = job.job.is_view;
  if (!report.manifest.empty()) json["manifest"] = Json::parse(report.manifest);
  json["overflows"] = overflows_json(report.overflows);
  if (!report.tables.empty()) json["tables"] = tables_json(report.tables);
  json["peak_resident_bytes"] = peak_bytes;
  json["seconds"] = report.seconds;
  json["source_rules"] = rules_json(report.source_rules);
  json["target_rules"] = rules_json(report.target_rules);
  return json_text(std::move(json)) + "\n";
}

const ResultKind& report_kind() {
  static const ResultKind kind{"--report", "report", [](std::string_view start) {
                                 std::string text(start);
                                 std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
                                 return text.starts_with(R"({"program":"ckpt-)");
                               }};
  return kind;
}

}  // namespace ckpt::cli
