#include "report/report_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "output/lock_token.hpp"
#include "output/places.hpp"
#include "processes/communicator.hpp"
#include "report/json_text.hpp"
#include "report/output.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

Json rules_json(const std::vector<Report::RuleUse>& rules) {
  Json list = Json::array();
  for (const auto& use : rules) list.push_back({{"rule", use.rule}, {"parameters", use.parameters}});
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

std::string object(const std::string& path) {
  return "--report " + path;
}

/// "/dev/stdout", "/dev/fd/63": what is open already is written into, where it stands.
std::optional<int> open_descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(directory)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [rest, status] = std::from_chars(path.data() + directory.size(), end, number);
    if (status == std::errc{} && rest == end && number >= 0) return number;
  }
  return std::nullopt;
}

/// Whether a file is a report of these programs, as `report_json` begins it, or has nothing in it to lose.
bool is_report(const fs::path& file) {
  constexpr std::size_t enough = 64;
  const Fd fd(retried([&] { return ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  std::string start(enough, '\0');
  const ssize_t count = fd ? retried([&] { return ::pread(fd.get(), start.data(), enough, 0); }) : -1;
  if (count < 0) return false;
  start.resize(static_cast<std::size_t>(count));
  std::erase_if(start, [](unsigned char c) { return std::isspace(c) != 0; });
  return start.empty() || start.starts_with(R"({"program":"ckpt-)");
}

}  // namespace

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::string failure_json(const ReportedJob& job, const Failure& failure) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  const Error& error = failure.error;
  Json json = json_of(job, "failed");
  json["error"] = {
      {"kind", word(error.kind())},     {"exit_status", failure.exit_status}, {"message", failure.message},
      {"object", text(error.object())}, {"found", text(error.text().found)},  {"expected", text(error.text().expected)},
      {"remedy", text(failure.remedy)}, {"file", text(error.file())},         {"parameter", text(error.parameter())}};
  return json_text(std::move(json)) + "\n";
}

std::string report_json(const ReportedJob& job, const Report& report, std::uint64_t peak_bytes) {
  Json json = json_of(job, "done");
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
  if (job.job.dry_run) {  // what only a summary of the whole plan tells
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

ReportFile::ReportFile(const std::string& path, const fs::path& output) : path_(path) {
  if (path_ == "-") return;
  if (const auto number = open_descriptor(path)) {
    file_ = Fd(::fcntl(*number, F_DUPFD_CLOEXEC, 0));
    if (!file_) throw system_error(object(path), "open", errno);
    return;
  }
  if (!output.empty())
    for (const auto& place : OutputPlaces(output).all())
      if (is_within(path, place))
        throw Error(Kind::usage, object(path),
                    {"it would lie in the output " + output.string() + ", or over it", "", "write it elsewhere"});
  real_ = resolved(path);
  std::error_code error;
  const auto type = fs::status(real_, error).type();
  if (type == fs::file_type::fifo || type == fs::file_type::character) {
    open_stream();
  } else {
    check_replaceable();
    make_draft();
  }
}

/// A pipe or a terminal stays open for as long as the job takes: who reads it sees its end.
void ReportFile::open_stream() {
  file_ = Fd(retried([&] { return ::open(real_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!file_)
    throw system_error(object(path_), "open", errno, errno == ENXIO ? "does anybody read from the pipe?" : "");
  ::fcntl(file_.get(), F_SETFL, O_WRONLY);  // a report that a pipe does not take at once waits for its reader
}

void ReportFile::make_draft() {
  draft_ = real_.string() + "." + random_id() + ".new";
  file_ = Fd(retried([&] { return ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
  if (file_) return;
  draft_.clear();
  throw system_error(object(path_), "open", errno, "does its directory exist, and may you write there?");
}

void ReportFile::check_replaceable() const {
  if (!is_there(real_)) return;
  std::error_code error;
  const bool is_file = fs::symlink_status(real_, error).type() == fs::file_type::regular;
  if (is_file && is_report(real_)) return;
  throw Error(Kind::io, object(path_),
              {(path_ == real_.string() ? "it exists" : "it leads to " + real_.string() + ", which exists") +
                   std::string(", and is no report of these programs"),
               "only a report is replaced", "choose another name"});
}

ReportFile::~ReportFile() {
  if (!draft_.empty()) ::unlink(draft_.c_str());
}

void ReportFile::write(const std::string& text) {
  if (path_.empty() || std::exchange(is_written_, true)) return;
  if (path_ == "-") return print(Lines::as_they_are(text));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw system_error(object(path_), "write", errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (draft_.empty()) return;
  check_replaceable();  // something else may have come there meanwhile
  if (::rename(draft_.c_str(), real_.c_str()) != 0) throw system_error(object(path_), "write", errno);
  draft_.clear();
}

}  // namespace ckpt::cli
