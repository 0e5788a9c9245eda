#include "sandbox/helper_process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/limits.hpp"
#include "base/wire.hpp"

namespace ckpt {

namespace {

std::atomic<HelperProcess*> the_helper{nullptr};

// Both sides are the same program in the same state: numbers are sent in native form, and so is a function's address.

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = retried([&] { return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// Limit on open files in a message.
constexpr std::size_t max_files = 2;

struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(max_files * sizeof(int))> bytes{};
};

/// Sends the length of what follows, and open files.
bool send_head(int socket, std::uint64_t length, std::span<const int> files) {
  iovec piece{&length, sizeof length};
  Control control;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(head), files.data(), files.size_bytes());
  }
  return retried([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); }) == static_cast<ssize_t>(sizeof length);
}

std::optional<std::uint64_t> receive_head(int socket, std::vector<Fd>& files) {
  std::uint64_t length = 0;
  iovec piece{&length, sizeof length};
  Control control;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  if (retried([&] { return ::recvmsg(socket, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC); }) !=
      static_cast<ssize_t>(sizeof length))
    return std::nullopt;
  if (const cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr && head->cmsg_type == SCM_RIGHTS) {
    std::array<int, max_files> numbers{};
    const std::size_t bytes = std::min(head->cmsg_len - CMSG_LEN(0), sizeof numbers);
    std::memcpy(numbers.data(), CMSG_DATA(head), bytes);
    for (std::size_t i = 0; i < bytes / sizeof(int); ++i) files.emplace_back(numbers[i]);
  }
  return length;
}

/// Receives a message, and the open files that came with it; returns nothing if the other side has ended.
std::optional<std::string> receive(int socket, std::vector<Fd>& files) {
  const auto length = receive_head(socket, files);
  if (!length) return std::nullopt;
  std::string bytes(*length, '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got = retried([&] { return ::recv(socket, bytes.data() + at, bytes.size() - at, 0); });
    if (got <= 0) return std::nullopt;
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

IsolatedWork work_in(std::string_view request) {
  wire::Reader in(request, "a request");
  IsolatedWork work{};
  work.run = reinterpret_cast<decltype(work.run)>(in.take<std::uintptr_t>());  // NOLINT(performance-no-int-to-ptr)
  in.take_into(std::tie(work.limits, work.argument));
  return work;
}

/// Closes the files `first` to `last`. glibc has a function for that from 2.34 on, and Linux a call from 5.9 on.
void close_files(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0) == 0) return;
  std::vector<unsigned> open;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", unreadable))
    open.push_back(static_cast<unsigned>(std::strtoul(entry.path().filename().c_str(), nullptr, 10)));
  for (const unsigned number : open)
    if (number >= first && number <= last) ::close(static_cast<int>(number));
}

/// Closes everything that the program has open except standard error: nobody should wait for the end of a pipe that the
/// helper holds.
void close_all_but(int socket) {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO})
    if (nowhere >= 0) ::dup2(nowhere, standard);
  constexpr unsigned first = STDERR_FILENO + 1;
  const auto number = static_cast<unsigned>(socket);
  close_files(first, number - 1);
  close_files(std::max(number + 1, first), ~0U);
}

/// Ignores the signals that end the program: the program ends in its own way, and the helper with it. Its children
/// restore the defaults.
void leave_signals_to_the_program() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(number, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // needed to learn how a child ended, even if the program ignores SIGCHLD
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void send_answer(int socket, const std::optional<ChildReport>& report) {
  const std::string answer = wire::packed(report);
  if (send_head(socket, answer.size(), {})) send_all(socket, answer);
}

/// Runs the work in a child, watches it, and sends its report through `answer`.
void watch(const IsolatedWork& work, const Fd& answer) {
  const auto fork_alone = [&] {
    const pid_t id = ::fork();
    if (id == 0) ::close(answer.get());  // a child that a file has taken over must not speak for this process
    return id;
  };
  send_answer(answer.get(), run_child(work, fork_alone));
}

/// Reaps the watchers that have ended, or, depending on `flags`, waits for all.
void forget_watchers(int flags) {
  while (retried([&] { return ::waitpid(-1, nullptr, flags); }) > 0) continue;
}

/// Each request gets a watcher of its own, so that any number can run at the same time.
void serve(int socket) {
  const pid_t helper = ::getpid();
  for (;;) {
    std::vector<Fd> files;
    const auto request = receive(socket, files);
    forget_watchers(request ? WNOHANG : 0);
    if (!request || files.empty()) return;
    IsolatedWork work = work_in(*request);
    if (files.size() > 1) work.fd = files[1].get();
    const pid_t id = ::fork();
    if (id < 0) send_answer(files[0].get(), std::nullopt);
    if (id != 0) continue;
    end_with(helper);
    ::close(socket);
    watch(work, files[0]);
    return;
  }
}

[[noreturn]] void run_as_helper(int socket, pid_t program) {
  end_with(program);
  ::prctl(PR_SET_NAME, "ckpt-metadata");
  leave_signals_to_the_program();
  close_all_but(socket);
  try {
    serve(socket);
  } catch (...) {
    ::_exit(EXIT_FAILURE);  // out of memory: the program sees that the helper has ended
  }
  ::_exit(EXIT_SUCCESS);
}

/// Throws io if the helper, or the process that watches the work, has ended before its answer.
const std::string& answered(const std::optional<std::string>& answer) {
  if (answer) return *answer;
  check_interrupt();
  throw Error(
      Kind::io, "",
      {"the process that reads metadata was ended from outside", "", "was the job cancelled or out of memory?"});
}

}  // namespace

HelperProcess::HelperProcess(pid_t (*fork_process)()) {
  std::array<int, 2> ends{};
  if (current() != nullptr || !is_single_threaded() ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return;
  socket_ = Fd(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t program = ::getpid();
  {
    const SignalsHeld held;
    id_ = fork_process();
    if (id_ == 0) run_as_helper(theirs.get(), program);
  }
  if (id_ > 0) the_helper = this;
}

HelperProcess::~HelperProcess() {
  if (id_ <= 0) return;
  the_helper = nullptr;
  socket_.reset();
  retried([&] { return ::waitpid(id_, nullptr, 0); });
}

HelperProcess* HelperProcess::current() noexcept {
  return the_helper;
}

std::vector<std::optional<ChildReport>> HelperProcess::run(std::span<const IsolatedWork> works) {
  std::vector<Fd> sockets;
  for (const IsolatedWork& work : works) sockets.push_back(ask(work));
  std::vector<std::optional<std::string>> answers;  // collects all answers before anything is thrown, so that no work
                                                    // is still running
  std::vector<Fd> none;
  for (const Fd& socket : sockets) answers.push_back(socket ? receive(socket.get(), none) : std::nullopt);
  std::vector<std::optional<ChildReport>> reports(works.size());
  for (std::size_t i = 0; i < works.size(); ++i)
    if (sockets[i]) reports[i] = wire::unpacked<std::optional<ChildReport>>(answered(answers[i]), "a report");
  return reports;
}

/// Returns where the answer will come from: an empty Fd if the helper has ended.
Fd HelperProcess::ask(const IsolatedWork& work) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const std::array<int, max_files> files{theirs.get(), work.fd};
  const std::string request = wire::packed(reinterpret_cast<std::uintptr_t>(work.run), work.limits, work.argument);
  const std::lock_guard lock(mutex_);
  const bool sent = send_head(socket_.get(), request.size(), std::span(files).first(work.fd < 0 ? 1 : 2)) &&
                    send_all(socket_.get(), request);
  return sent ? std::move(ours) : Fd();
}

}  // namespace ckpt
