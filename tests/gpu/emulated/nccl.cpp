// The functions of NCCL that lib/exchange/nccl calls, for non-blocking communicators. What such a communicator is asked
// for happens later, by a thread of its own: until then it is in progress, and refuses everything as NCCL does. A
// group's messages get into their stream only then.
#include "gpu/emulated/nccl.hpp"

#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>

#include "gpu/emulated/memory.hpp"
#include "gpu/emulated/peers.hpp"
#include "gpu/emulated/runtime.hpp"
#include "gpu/emulated/streams.hpp"

namespace {

using emulated::Range;

struct Message {
  int peer;
  Range bytes;
  bool never = false;  ///< as planned: it does not match what the peer does
};

/// The messages of a group, which are all of one communicator and stream here.
struct Group {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Message> sends;
  std::vector<Message> receives;
  bool hangs = false;
};

enum class Phase { linking, ready, entering, finalizing, finalized };

/// What the work in a stream shares with the communicator, which may be gone before it.
struct Shared {
  std::unique_ptr<emulated::Peers> peers;  // none where joining hangs
  Phase phase = Phase::linking;
  int polls = 0;         ///< answers that it is still in progress, at the least
  bool is_done = false;  ///< what it was asked for has happened
  std::optional<Group> group;
  std::size_t groups_under_way = 0;
  bool hangs = false;
  bool is_aborted = false;
  ncclResult_t error = ncclSuccess;
};

}  // namespace

struct ncclComm {
  std::shared_ptr<Shared> shared;
  std::thread thread;
};

namespace {

using emulated::Call;
using emulated::misuse;
using emulated::Plant;
using emulated::runtime;
using emulated::sleep_up_to;

constexpr const char* id_start = "emulated-nccl-";
constexpr unsigned most_polls = 4;
constexpr unsigned entering_us = 1200;
constexpr unsigned sending_us = 100;

std::set<ncclComm_t>& communicators() {
  static auto* all = new std::set<ncclComm_t>;
  return *all;
}

// The group that is open: of the one thread that makes calls.
int group_depth = 0;
ncclResult_t group_error = ncclSuccess;
Group open_group;

void close_group() {
  group_depth = 0;
  group_error = ncclSuccess;
  open_group = {};
}

void expect_communicator(ncclComm_t comm, const char* what) {
  if (communicators().count(comm) == 0) misuse(std::string(what) + " of a communicator that is not there");
}

/// All peers' messages in a random order, those of one peer in theirs.
std::vector<Message> shuffled(std::vector<Message> messages, std::mt19937_64& engine) {
  const std::uint64_t key = engine() | 1U;
  std::stable_sort(messages.begin(), messages.end(), [key](const Message& a, const Message& b) {
    return static_cast<std::uint64_t>(a.peer + 1) * key < static_cast<std::uint64_t>(b.peer + 1) * key;
  });
  return messages;
}

/// Takes what has come for the receives that are left. One whose size differs keeps waiting, as all behind it do.
void take_arrived(Shared& shared, std::vector<Message>& left) {
  std::set<int> blocked;
  std::erase_if(left, [&](const Message& message) {
    const std::string* arrived = shared.peers->next(message.peer);
    const bool matches = arrived != nullptr && arrived->size() == message.bytes.bytes && !message.never;
    if (!matches) blocked.insert(message.peer);
    if (blocked.count(message.peer) != 0) return false;
    std::memcpy(emulated::reach(message.bytes, "a message"), arrived->data(), arrived->size());
    shared.peers->take(message.peer);
    return true;
  });
}

/// A group as its stream does it: sends late and one by one, and is over when all has been received on both sides.
void exchange(CUstream_st& stream, Shared& shared, const Group& group) {
  std::unique_lock lock(runtime().mutex);
  const auto is_over = [&] { return shared.is_aborted || stream.is_ending || runtime().is_broken(); };
  std::vector<Message> left = group.receives;
  for (const Message& message : left) {
    const Range& bytes = message.bytes;
    std::memset(emulated::reach(bytes, "a message"), 0x3C, bytes.bytes);  // whatever is there until it is done
  }
  std::map<int, std::uint64_t> last;
  for (const Message& message : shuffled(group.sends, stream.engine)) {
    lock.unlock();
    sleep_up_to(stream.engine, sending_us);
    lock.lock();
    if (is_over()) return;
    if (group.hangs || message.never) continue;
    shared.peers->send(message.peer, emulated::reach(message.bytes, "a message"), message.bytes.bytes);
    last[message.peer] = shared.peers->sent(message.peer);
  }
  stream.wait(lock, [&] {
    if (is_over()) return true;
    if (group.hangs) return false;
    take_arrived(shared, left);
    return left.empty() && std::all_of(last.begin(), last.end(), [&](const auto& each) {
             return shared.peers->confirmed(each.first) >= each.second;
           });
  });
}

void enter(const std::shared_ptr<Shared>& shared, const Group& group) {
  std::vector<Range> uses;
  for (const auto* messages : {&group.sends, &group.receives})
    for (const Message& message : *messages) uses.push_back(message.bytes);
  emulated::expect_stream(group.stream, "a group of messages");
  ++shared->groups_under_way;
  emulated::put(group.stream,
                {"a message", std::move(uses), [shared, group](CUstream_st& self) { exchange(self, *shared, group); },
                 [shared] { --shared->groups_under_way; }});
}

/// What a communicator does by itself.
void look_after(const std::shared_ptr<Shared>& shared, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  bool has_said_goodbye = false;
  std::unique_lock lock(runtime().mutex);
  for (;;) {
    runtime().changed.wait(lock, [&] {
      if (shared->is_aborted || shared->group) return true;
      if (shared->peers == nullptr || shared->is_done) return false;
      if (shared->phase == Phase::linking) return shared->peers->are_connected();
      if (shared->phase != Phase::finalizing || shared->groups_under_way > 0) return false;
      return !has_said_goodbye || shared->peers->have_all_left();
    });
    lock.unlock();
    sleep_up_to(engine, entering_us);
    lock.lock();
    if (shared->is_aborted) return;
    if (shared->group) {
      enter(shared, *shared->group);
      shared->group.reset();
      shared->is_done = true;
    } else if (shared->phase == Phase::finalizing && !has_said_goodbye) {
      shared->peers->leave();
      has_said_goodbye = true;
    } else {
      shared->is_done = true;
    }
  }
}

void begin(Shared& shared, Phase phase) {
  shared.phase = phase;
  shared.is_done = false;
  shared.polls = 1 + static_cast<int>(runtime().below(most_polls));
  runtime().changed.notify_all();
}

/// Whether everything that was asked for has happened: then the next thing may be.
bool is_ready(Shared& shared) {
  if (shared.phase == Phase::ready || shared.phase == Phase::finalized) return true;
  if (shared.polls > 0) --shared.polls;
  if (!shared.is_done || shared.polls > 0 || shared.hangs) return false;
  shared.phase = shared.phase == Phase::finalizing ? Phase::finalized : Phase::ready;
  return true;
}

/// What NCCL answers where a communicator is used before what it does is over.
ncclResult_t usable(const Shared& shared) {
  if (shared.error != ncclSuccess) return shared.error;
  return shared.phase == Phase::ready ? ncclSuccess : ncclInvalidArgument;
}

void end(ncclComm_t comm, std::unique_lock<std::mutex>& lock) {
  comm->shared->is_aborted = true;
  runtime().changed.notify_all();
  lock.unlock();
  comm->thread.join();
  if (comm->shared->peers) comm->shared->peers->close();
  lock.lock();
  communicators().erase(comm);
  delete comm;
}

ncclResult_t add(Call& call, std::vector<Message>& messages, const void* bytes, std::size_t size, ncclDataType_t type,
                 int peer, ncclComm_t comm, cudaStream_t stream, const char* what) {
  expect_communicator(comm, what);
  emulated::expect_stream(stream, what);
  if (group_depth == 0) misuse(std::string(what) + " outside of a group is not emulated");
  if (type != ncclInt8) misuse(std::string(what) + " of anything but bytes is not emulated");
  if (open_group.comm != nullptr && (open_group.comm != comm || open_group.stream != stream))
    misuse("a group of several communicators or streams is not emulated");
  if (group_error == ncclSuccess) group_error = call.refusal(ncclInternalError).value_or(usable(*comm->shared));
  if (group_error != ncclSuccess) return group_error;
  const Range range{static_cast<const std::byte*>(bytes), size};
  if (size == 0) misuse(std::string(what) + " of nothing");
  emulated::allocation_of(range, what);
  open_group.comm = comm;
  open_group.stream = stream;
  messages.push_back({peer, range, call.hangs()});
  return ncclSuccess;
}

}  // namespace

namespace emulated {

std::string communicators_left() {
  std::string text;
  if (!communicators().empty()) text += std::to_string(communicators().size()) + " communicators; ";
  if (group_depth != 0) text += "an open group; ";
  return text;
}

void discard_communicators() {
  std::unique_lock lock(runtime().mutex);
  while (!communicators().empty()) end(*communicators().begin(), lock);
  close_group();
}

}  // namespace emulated

extern "C" {

const char* ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInvalidArgument:
      return "invalid argument";
    default:
      return "an error of the emulated NCCL";
  }
}

const char* ncclGetLastError(ncclComm_t /*comm*/) {
  return "";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  Call call("ncclGetUniqueId");
  if (const auto error = call.refusal(ncclSystemError)) return *error;
  *id = {};
  std::random_device random;
  const std::string name =
      id_start + std::to_string(getpid()) + "-" + std::to_string(random()) + "-" + std::to_string(random());
  std::memcpy(id->internal, name.data(), std::min(name.size(), sizeof id->internal - 1));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  Call call("ncclCommInitRankConfig");
  *comm = nullptr;
  if (const auto error = call.refusal(ncclSystemError)) return *error;
  const std::string name(id.internal, strnlen(id.internal, sizeof id.internal));
  if (name.rfind(id_start, 0) != 0 || rank < 0 || rank >= size) return ncclInvalidArgument;
  if (config->magic != ncclConfig_t NCCL_CONFIG_INITIALIZER.magic || config->blocking != 0)
    misuse("a communicator that waits, or whose configuration was not initialized");
  auto shared = std::make_shared<Shared>();
  if (!call.hangs()) shared->peers = std::make_unique<emulated::Peers>(name, rank, size);
  begin(*shared, Phase::linking);
  *comm = new ncclComm;
  (*comm)->shared = shared;
  (*comm)->thread = std::thread([shared, seed = runtime().engine()] { look_after(shared, seed); });
  communicators().insert(*comm);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  Call call("ncclCommGetAsyncError");
  expect_communicator(comm, "ncclCommGetAsyncError");
  Shared& shared = *comm->shared;
  if (const auto error = call.refusal(ncclRemoteError)) shared.error = *error;
  if (call.hangs()) shared.hangs = true;
  if (shared.peers && shared.peers->is_one_lost() && !runtime().plan.are_peers_silent) shared.error = ncclRemoteError;
  const bool claims_ready = (call.is_forgotten(Plant::link) && shared.phase == Phase::linking) ||
                            (call.is_forgotten(Plant::group) && shared.phase == Phase::entering);
  *state = shared.error != ncclSuccess ? shared.error : is_ready(shared) || claims_ready ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  Call call("ncclGroupStart");
  if (const auto error = call.refusal(ncclInternalError)) return *error;
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclSend(const void* bytes, std::size_t size, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  Call call("ncclSend");
  return add(call, open_group.sends, bytes, size, type, peer, comm, stream, "ncclSend");
}

ncclResult_t ncclRecv(void* bytes, std::size_t size, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  Call call("ncclRecv");
  return add(call, open_group.receives, bytes, size, type, peer, comm, stream, "ncclRecv");
}

ncclResult_t ncclGroupEnd() {
  Call call("ncclGroupEnd");
  if (group_depth == 0) misuse("ncclGroupEnd of a group that was not started");
  if (call.is_forgotten(Plant::group_end)) return ncclInProgress;
  if (--group_depth > 0) return ncclSuccess;
  if (const auto error = call.refusal(ncclUnhandledCudaError)) group_error = *error;
  const ncclResult_t error = group_error;
  Group group = std::exchange(open_group, {});
  close_group();
  if (error != ncclSuccess) return error;
  if (group.comm == nullptr) return ncclSuccess;
  group.hangs = call.hangs();
  Shared& shared = *group.comm->shared;
  shared.group = std::move(group);
  begin(shared, Phase::entering);
  return ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Call call("ncclCommFinalize");
  expect_communicator(comm, "ncclCommFinalize");
  if (const auto error = call.refusal(ncclSystemError)) return *error;
  if (group_depth != 0) misuse("ncclCommFinalize in an open group");
  if (const ncclResult_t error = usable(*comm->shared); error != ncclSuccess) return error;
  comm->shared->hangs = call.hangs();
  begin(*comm->shared, Phase::finalizing);
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Call call("ncclCommDestroy");
  expect_communicator(comm, "ncclCommDestroy");
  if (const auto error = call.refusal(ncclInternalError)) return *error;
  if (comm->shared->phase != Phase::finalized) misuse("ncclCommDestroy before the communicator is finalized");
  end(comm, call.lock());
  return ncclSuccess;
}

/// Frees a stream that waits for a message, too.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Call call("ncclCommAbort");
  expect_communicator(comm, "ncclCommAbort");
  if (const auto error = call.refusal(ncclInternalError)) return *error;
  end(comm, call.lock());
  return ncclSuccess;
}

}  // extern "C"
