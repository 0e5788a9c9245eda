#include "common/report_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "common/json_text.hpp"
#include "common/output.hpp"
#include "common/versions.hpp"

namespace ckpt::cli {

namespace {

using Json = nlohmann::ordered_json;

Json rules_json(const std::vector<Report::RuleUse>& rules) {
  Json list = Json::array();
  for (const auto& use : rules) list.push_back({{"rule", use.rule}, {"parameters", use.parameters}});
  return list;
}

Json program_json(const Program& program, const Job& job) {
  return {{"program", program.manual.name},
          {"version", CKPT_VERSION},
          {"libraries", {{"hdf5", hdf5_version()}, {"mpi", mpi_version()}}},
          {"source", job.source.string()},
          {"output", job.output.string()},
          {"dry_run", job.dry_run},
          {"memory_bytes", job.memory_bytes}};
}

}  // namespace

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::string report_json(const Program& program, const Job& job, const Report& report, std::uint64_t peak_bytes) {
  Json json = program_json(program, job);
  json["exchange"] = report.exchange;
  json["processes"] = report.processes;
  json["threads"] = report.threads;
  json["source_cards"] = report.source_cards;
  json["target_cards"] = report.target_cards;
  json["source_files"] = report.source_files;
  json["target_files"] = report.target_files;
  json["parameters"] = report.parameters;
  json["tensor_bytes"] = report.tensor_bytes;
  json["bytes_to_write"] = report.bytes_to_write;
  if (job.dry_run) {  // what only a summary of the whole plan tells
    json["bytes_to_read"] = report.bytes_to_read;
    json["bytes_changing_card"] = report.bytes_changing_card;
    json["busiest_process"] = report.busiest_process;
    json["busiest_process_bytes"] = report.busiest_process_bytes;
  }
  json["staging_bytes"] = report.staging_bytes;
  json["bytes_read"] = report.bytes_read;
  json["bytes_exchanged"] = report.bytes_exchanged;
  json["bytes_written"] = report.bytes_written;
  json["bytes_resumed"] = report.bytes_resumed;
  json["peak_resident_bytes"] = peak_bytes;
  json["seconds"] = report.seconds;
  json["source_rules"] = rules_json(report.source_rules);
  json["target_rules"] = rules_json(report.target_rules);
  return json_text(std::move(json)) + "\n";
}

void DescriptorTraits::release(int descriptor) noexcept {
  ::close(descriptor);
}

ReportFile::ReportFile(const std::string& path) : path_(path) {
  if (path_ == "-") return;
  file_ = Handle<DescriptorTraits>(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  unwritten_ = bool(file_);
  if (!file_ && errno == EEXIST) file_ = Handle<DescriptorTraits>(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file_) throw system_error("--report " + path, "open", errno, "does its directory exist?");
}

ReportFile::~ReportFile() {
  if (unwritten_) ::unlink(path_.c_str());
}

void ReportFile::write(const std::string& text) {
  if (path_.empty()) return;
  if (path_ == "-") return print(Lines::as_they_are(text));
  unwritten_ = false;
  if (::ftruncate(file_.get(), 0) != 0 && errno != EINVAL) throw system_error("--report " + path_, "truncate", errno);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw system_error("--report " + path_, "write", errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

}  // namespace ckpt::cli
