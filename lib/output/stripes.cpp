#include "output/stripes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/shell_word.hpp"
#include "io/posix_file.hpp"
#include "output/free_space.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it so

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// A server of Lustre that does not answer must not hold up the job.
constexpr int most_milliseconds = 5000;

/// The beginning of what a command prints; empty if it cannot be started, fails, prints more, or prints nothing for so
/// long.
std::string printed_by(const std::array<const char*, 6>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  Fd output_end(ends[0]);
  Fd input_end(ends[1]);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t id = 0;
  const int error = ::posix_spawnp(&id, words[0], &actions, nullptr, const_cast<char**>(words.data()), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return "";
  input_end.reset();
  std::array<char, 256> text{};
  pollfd output{output_end.get(), POLLIN, 0};
  const bool is_late = retried([&] { return ::poll(&output, 1, most_milliseconds); }) == 0;
  if (is_late) ::kill(id, SIGKILL);
  const ssize_t bytes = is_late ? 0 : retried([&] { return ::read(output_end.get(), text.data(), text.size()); });
  output_end.reset();  // a command that has more to say ends by it
  int status = 0;
  retried([&] { return ::waitpid(id, &status, 0); });
  return status == 0 && bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes)) : "";
}

}  // namespace

std::string stripes_of(const fs::path& output) {
  const std::string directory = existing_directory(output).string();
  const std::string said = printed_by({"lfs", "getstripe", "-c", "-d", directory.c_str(), nullptr});
  int stripes = 0;
  if (std::from_chars(said.data(), said.data() + said.size(), stripes).ec != std::errc()) return "";
  if (stripes != 1) return (stripes < 0 ? "over all servers" : std::to_string(stripes)) + " for each new file";
  return "1 for each new file: a large file gets the rate of one server; lfs setstripe -c -1 " + shell_word(directory) +
         " spreads new ones over all";
}

}  // namespace ckpt
