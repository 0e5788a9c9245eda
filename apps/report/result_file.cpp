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
#include "output/locked_draft.hpp"
#include "output/places.hpp"
#include "report/output.hpp"

namespace ckpt::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* draft_ending = ".ckpt-new";  // nobody gives a result of their own this name

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

/// Whether a file is a result of this kind, or has nothing to lose: it is empty, or another job has just removed it.
bool is_own(const fs::path& file, const ResultKind& kind) {
  constexpr std::size_t enough = 256;
  const Fd fd(retried([&] { return ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  std::string start(enough, '\0');
  const ssize_t count = fd ? retried([&] { return ::pread(fd.get(), start.data(), enough, 0); }) : -1;
  if (count < 0) return !fd && errno == ENOENT;
  start.resize(static_cast<std::size_t>(count));
  return std::all_of(start.begin(), start.end(), [](unsigned char c) { return std::isspace(c) != 0; }) ||
         kind.is_begun_by(start);
}

}  // namespace

ResultFile::ResultFile(const ResultKind& kind, const std::string& path, const fs::path& output)
    : kind_(&kind), path_(path) {
  if (path_ == "-") return;
  if (const auto number = open_descriptor(path)) {
    stream_ = Fd(::fcntl(*number, F_DUPFD_CLOEXEC, 0));
    if (!stream_) throw system_error(object(), "open", errno);
    return;
  }
  real_ = resolved(path);
  if (!output.empty()) refuse_within(output);
  std::error_code error;
  const auto type = fs::status(real_, error).type();
  if (type == fs::file_type::fifo || type == fs::file_type::character) {
    open_stream();
  } else {
    check_replaceable();
    with_context(object(), [&] { const LockedDraft draft(real_, draft_ending); });
  }
}

void ResultFile::refuse_within(const fs::path& output) const {
  for (const auto& place : OutputPlaces(output).all())
    if (is_within(path_, place) || resolved(place) == real_.string() + draft_ending)
      throw Error(Kind::usage, object(),
                  {"it would lie in the output " + output.string() + ", or over it", "", "write it elsewhere"});
}

/// Opens a pipe or terminal, which stays open as long as the job takes, so that its reader sees its end.
void ResultFile::open_stream() {
  stream_ = Fd(retried([&] { return ::open(real_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!stream_) throw system_error(object(), "open", errno, errno == ENXIO ? "does anybody read from the pipe?" : "");
  ::fcntl(stream_.get(), F_SETFL, O_WRONLY);  // a full pipe waits for its reader
}

void ResultFile::check_replaceable() const {
  const bool is_given = path_ == real_.string();
  check_replaceable(real_, is_given ? "it exists" : "it leads to " + real_.string() + ", which exists");
  const std::string draft = real_.string() + draft_ending;
  check_replaceable(draft, "it is written as " + draft + ", which exists");
}

void ResultFile::check_replaceable(const fs::path& file, const std::string& found) const {
  if (!is_there(file)) return;
  std::error_code error;
  const auto type = fs::symlink_status(file, error).type();
  if (type == fs::file_type::not_found || (type == fs::file_type::regular && is_own(file, *kind_))) return;
  throw Error(Kind::io, object(),
              {found + ", and is no " + kind_->noun + " of these programs",
               std::string("a ") + kind_->noun + " to replace", "choose another name"});
}

void ResultFile::write(const std::string& text) {
  if (path_.empty() || std::exchange(is_written_, true)) return;
  if (path_ == "-") return print(Lines::as_they_are(text));
  if (!stream_) {
    check_replaceable();  // something else may be there by now
    return with_context(object(), [&] { LockedDraft(real_, draft_ending).publish(text, /*is_lasting=*/false); });
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(stream_.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw system_error(object(), "write", errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

}  // namespace ckpt::cli
