#include "report/result_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "output/lock_token.hpp"
#include "output/places.hpp"
#include "report/output.hpp"

namespace ckpt::cli {

namespace fs = std::filesystem;

namespace {

/// The descriptor behind "/dev/stdout", "/dev/fd/63": an open file is written to at its current position.
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

/// Whether a file is a result of this kind, or has nothing to lose.
bool is_own(const fs::path& file, const ResultKind& kind) {
  constexpr std::size_t enough = 256;
  const Fd fd(retried([&] { return ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  std::string start(enough, '\0');
  const ssize_t count = fd ? retried([&] { return ::pread(fd.get(), start.data(), enough, 0); }) : -1;
  if (count < 0) return false;
  start.resize(static_cast<std::size_t>(count));
  return std::all_of(start.begin(), start.end(), [](unsigned char c) { return std::isspace(c) != 0; }) ||
         kind.is_begun_by(start);
}

}  // namespace

ResultFile::ResultFile(const ResultKind& kind, const std::string& path, const fs::path& output)
    : kind_(&kind), path_(path) {
  if (path_ == "-") return;
  if (const auto number = open_descriptor(path)) {
    file_ = Fd(::fcntl(*number, F_DUPFD_CLOEXEC, 0));
    if (!file_) throw system_error(object(), "open", errno);
    return;
  }
  if (!output.empty()) refuse_within(output);
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

void ResultFile::refuse_within(const fs::path& output) const {
  for (const auto& place : OutputPlaces(output).all())
    if (is_within(path_, place))
      throw Error(Kind::usage, object(),
                  {"it would lie in the output " + output.string() + ", or over it", "", "write it elsewhere"});
}

/// Opens a pipe or terminal, which stays open as long as the job takes, so that its reader sees its end.
void ResultFile::open_stream() {
  file_ = Fd(retried([&] { return ::open(real_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!file_) throw system_error(object(), "open", errno, errno == ENXIO ? "does anybody read from the pipe?" : "");
  ::fcntl(file_.get(), F_SETFL, O_WRONLY);  // a full pipe waits for its reader
}

void ResultFile::make_draft() {
  draft_ = real_.string() + "." + random_id() + ".new";
  file_ = Fd(retried([&] { return ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
  if (file_) return;
  draft_.clear();
  throw system_error(object(), "open", errno, "does its directory exist, and may you write there?");
}

void ResultFile::check_replaceable() const {
  if (!is_there(real_)) return;
  std::error_code error;
  const bool is_file = fs::symlink_status(real_, error).type() == fs::file_type::regular;
  if (is_file && is_own(real_, *kind_)) return;
  throw Error(Kind::io, object(),
              {(path_ == real_.string() ? "it exists" : "it leads to " + real_.string() + ", which exists") +
                   std::string(", and is no ") + kind_->noun + " of these programs",
               std::string("a ") + kind_->noun + " to replace", "choose another name"});
}

ResultFile::~ResultFile() {
  if (!draft_.empty()) ::unlink(draft_.c_str());
}

void ResultFile::write(const std::string& text) {
  if (path_.empty() || std::exchange(is_written_, true)) return;
  if (path_ == "-") return print(Lines::as_they_are(text));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw system_error(object(), "write", errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (draft_.empty()) return;
  check_replaceable();  // something else may be there by now
  if (::rename(draft_.c_str(), real_.c_str()) != 0) throw system_error(object(), "write", errno);
  draft_.clear();
}

}  // namespace ckpt::cli
