#include "store/helper_process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/limits.hpp"
#include "store/byte_stream.hpp"

namespace ckpt {

namespace {

std::atomic<HelperProcess*> the_helper{nullptr};

// Both sides are the same program in the same state: numbers go as they are, and so does a function's address.

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = retried([&] { return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// Room for one file's number beside a message.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

/// The length of what follows, and an open file with it if there is one.
bool send_head(int socket, std::uint64_t length, int fd) {
  iovec piece{&length, sizeof length};
  Control control;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  return retried([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); }) == static_cast<ssize_t>(sizeof length);
}

std::optional<std::uint64_t> receive_head(int socket, Fd& fd) {
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
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof number);
    fd = Fd(number);
  }
  return length;
}

/// A message, and the open file that came with it; nothing where the other side has ended.
std::optional<std::string> receive(int socket, Fd& fd) {
  const auto length = receive_head(socket, fd);
  if (!length) return std::nullopt;
  std::string bytes(*length, '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got = retried([&] { return ::recv(socket, bytes.data() + at, bytes.size() - at, 0); });
    if (got <= 0) return std::nullopt;
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string encode(const IsolatedWork& work) {
  ByteWriter out;
  out.number(reinterpret_cast<std::uintptr_t>(work.run));
  for (const std::uint64_t each :
       {work.limits.memory_bytes, work.limits.processor_s, work.limits.idle_s, work.limits.clock_s})
    out.number(each);
  out.text(work.argument);
  return out.take();
}

IsolatedWork decode_work(std::string_view bytes) {
  ByteReader in(bytes, "a request");
  IsolatedWork work{};
  work.run = reinterpret_cast<decltype(work.run)>(static_cast<std::uintptr_t>(in.number()));
  for (std::uint64_t* each :
       {&work.limits.memory_bytes, &work.limits.processor_s, &work.limits.idle_s, &work.limits.clock_s})
    *each = in.number();
  work.argument = in.text();
  return work;
}

std::string encode(const std::optional<ChildReport>& report) {
  ByteWriter out;
  out.flag(report.has_value());
  if (report) {
    out.number(static_cast<std::uint64_t>(report->end));
    out.number(static_cast<std::uint64_t>(report->status));
    out.text(report->said);
  }
  return out.take();
}

std::optional<ChildReport> decode_report(std::string_view bytes) {
  ByteReader in(bytes, "a report");
  if (!in.flag()) return std::nullopt;
  ChildReport report;
  report.end = static_cast<ChildReport::End>(in.number());
  report.status = static_cast<int>(in.number());
  report.said = in.text();
  return report;
}

/// Nothing that the program has open stays open here but standard error: nobody is to wait for the end of a pipe that
/// the helper holds.
void close_all_but(int socket) {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO})
    if (nowhere >= 0) ::dup2(nowhere, standard);
  constexpr unsigned first = STDERR_FILENO + 1;
  const auto number = static_cast<unsigned>(socket);
  if (number > first) ::close_range(first, number - 1, 0);
  ::close_range(std::max(number + 1, first), ~0U, 0);
}

/// What ends the program leaves the helper alone: the program ends in its own way, and the helper with it. Its children
/// set all this back.
void leave_signals_to_the_program() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(number, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // how a child ended is to be known even where the program does not care
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void serve(int socket) {
  for (;;) {
    Fd fd;
    const auto request = receive(socket, fd);
    if (!request) return;
    IsolatedWork work = decode_work(*request);
    work.fd = fd.get();
    const auto fork_alone = [&] {
      const pid_t id = ::fork();
      if (id == 0) ::close(socket);  // a child that a file has taken over must not speak for the helper
      return id;
    };
    const std::string answer = encode(run_child(work, fork_alone));
    if (!send_head(socket, answer.size(), -1) || !send_all(socket, answer)) return;
  }
}

[[noreturn]] void be_the_helper(int socket, pid_t program) {
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
    if (id_ == 0) be_the_helper(theirs.get(), program);
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

std::optional<ChildReport> HelperProcess::run(const IsolatedWork& work) {
  const auto answer = ask(work);
  return answer ? decode_report(*answer) : std::nullopt;
}

/// Nothing where the helper had ended before; an error where it ends meanwhile, which is likely to be this file's
/// doing.
std::optional<std::string> HelperProcess::ask(const IsolatedWork& work) {
  const std::lock_guard lock(mutex_);
  const std::string request = encode(work);
  if (!send_head(socket_.get(), request.size(), work.fd) || !send_all(socket_.get(), request)) return std::nullopt;
  Fd none;
  if (auto answer = receive(socket_.get(), none)) return answer;
  check_interrupt();
  throw Error(
      Kind::io, "",
      {"the process that reads metadata was ended from outside", "", "was the job cancelled or out of memory?"});
}

}  // namespace ckpt
