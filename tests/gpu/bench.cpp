// Measures, on the first GPU, what the exchange over NCCL is made of; prints one JSON object a line:
//   case, variant, seconds (best of several), bytes, rival (what it is held against), rival_seconds, goal (the largest
//   ratio of the two that is good enough).
// Usage: gpu_bench DIRECTORY [MIB]: the pipeline's files are made in DIRECTORY (memory-backed), MIB large (8192).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "exchange/copy_table.hpp"
#include "exchange/exchange.hpp"
#include "exchange/nccl/copy_kernel.hpp"
#include "exchange/nccl/nccl_device.hpp"
#include "io/posix_file.hpp"

namespace {

using namespace ckpt;
using Queue = Device::Queue;

constexpr std::uint64_t mib = 1ULL << 20;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_of(int times, const std::function<void()>& work) {
  double best = seconds_of(work);
  while (--times > 0) best = std::min(best, seconds_of(work));
  return best;
}

void print(const char* name, const std::string& variant, double seconds, std::uint64_t bytes, const char* rival,
           double rival_seconds, double goal) {
  std::printf(
      "{\"case\": \"%s\", \"variant\": \"%s\", \"seconds\": %.9f, \"bytes\": %llu, \"rival\": \"%s\", "
      "\"rival_seconds\": %.9f, \"goal\": %.3f}\n",
      name, variant.c_str(), seconds, static_cast<unsigned long long>(bytes), rival, rival_seconds, goal);
  std::fflush(stdout);
}

/// Runs what `put` puts into a queue, ten times in a row.
double time_on_device(Device& device, Queue queue, const std::function<void()>& put) {
  constexpr int times = 10;
  return best_of(5,
                 [&] {
                   for (int i = 0; i < times; ++i) put();
                   const auto mark = device.mark(queue);
                   while (!mark->is_reached()) {
                   }
                 }) /
         times;
}

/// Runs of one length from every second place to dense ones (packing), or back (assembling).
void bench_copies(NcclDevice& device, Device::Memory& memory, Device::Memory& host, std::uint64_t run_bytes,
                  std::uint64_t bytes, double plain) {
  const std::uint64_t runs = bytes / run_bytes;
  for (const bool packs : {true, false}) {
    const std::uint64_t gap = 2 * run_bytes;
    CopyTable table;
    table.add(strided_copy({runs, run_bytes}, {packs ? gap : run_bytes, 1}, {packs ? run_bytes : gap, 1}, 1), 0,
              2 * bytes);
    const std::uint64_t table_at = 4 * bytes;
    const CopyTableView view = table.store(host.data(), memory.data() + table_at);
    device.upload(memory.data() + table_at, host.data(), table.bytes());
    const double seconds = time_on_device(device, Queue::up, [&] { device.copy(Queue::up, memory.data(), view); });
    print(packs ? "gpu-pack" : "gpu-assemble", std::to_string(run_bytes) + " B runs", seconds, bytes,
          "cudaMemcpy on the device", plain, run_bytes < 256 ? 1 / 0.4 : 1 / 0.7);
  }
}

void bench_device() {
  NcclDevice device(0, 0, 1, std::thread::hardware_concurrency());
  constexpr std::uint64_t bytes = 1024 * mib;
  const auto memory = device.device_memory(4 * bytes + mib);
  const auto host = device.host_memory(bytes);
  const double plain = best_of(5,
                               [&] {
                                 for (int i = 0; i < 10; ++i)
                                   check(cudaMemcpyAsync(memory->data() + 2 * bytes, memory->data(), bytes,
                                                         cudaMemcpyDeviceToDevice, cudaStreamPerThread),
                                         "cudaMemcpyAsync");
                                 check(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
                               }) /
                       10;
  print("gpu-copy", "", plain, bytes, "itself", plain, 1);
  for (const std::uint64_t run_bytes : {16ULL, 64ULL, 256ULL, 1024ULL, 65536ULL})
    bench_copies(device, *memory, *host, run_bytes, bytes, plain);
  const auto blocking = [&](void* to, const void* from, cudaMemcpyKind kind) {
    return best_of(5, [&] { check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy"); });
  };
  const double up = blocking(memory->data(), host->data(), cudaMemcpyHostToDevice);
  const double down = blocking(host->data(), memory->data(), cudaMemcpyDeviceToHost);
  print("gpu-upload", "",
        time_on_device(device, Queue::up, [&] { device.upload(memory->data(), host->data(), bytes); }), bytes,
        "cudaMemcpy of pinned memory", up, 1 / 0.9);
  print("gpu-download", "",
        time_on_device(device, Queue::down, [&] { device.download(host->data(), memory->data(), bytes); }), bytes,
        "cudaMemcpy of pinned memory", down, 1 / 0.9);
}

/// Every chunk is a part of one file, and goes to the same place of another.
class FileCopy final : public Workload {
 public:
  FileCopy(const std::string& directory, std::uint64_t bytes, std::uint64_t chunk_bytes)
      : source_(PosixFile::open_for_reading(directory + "/source")),
        target_(PosixFile::create(directory + "/target")),
        bytes_(bytes),
        chunk_bytes_(chunk_bytes) {}

  std::optional<Chunk> next() override {
    if (next_ == bytes_) return std::nullopt;
    const std::uint64_t size = std::min(chunk_bytes_, bytes_ - next_);
    const Chunk chunk{0, 0, {next_, next_ + size}, size};
    next_ += size;
    return chunk;
  }
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    Transfer transfer;
    transfer.element = 1;
    transfer.source = {Box{{chunk.elements.lo}, {chunk.elements.hi}}, chunk.elements.lo, {1}};
    transfer.target_strides = {1};
    visit(transfer);
    return chunk.bytes;
  }
  bool has_padding(const Chunk&) const override { return false; }
  std::uint32_t owner(Position) const override { return 0; }
  PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte>) override {
    source_.read(transfer.source.offset, {target, static_cast<std::size_t>(transfer.bytes())});
    return {};
  }
  void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum&) override {
    target_.write(chunk.elements.lo, bytes);
  }
  void count_exchanged(std::uint64_t) override {}

 private:
  PosixFile source_;
  PosixFile target_;
  std::uint64_t bytes_;
  std::uint64_t chunk_bytes_;
  std::uint64_t next_ = 0;
};

double time_exchange(Exchange& exchange, const std::string& directory, std::uint64_t bytes) {
  return best_of(3, [&] {
    std::remove((directory + "/target").c_str());
    FileCopy work(directory, bytes, exchange.chunk_bytes());
    exchange.run(work);
  });
}

/// Files to files through the device, against the slowest of what it is made of.
void bench_pipeline(const std::string& directory, std::uint64_t bytes) {
  {
    const PosixFile source = PosixFile::create(directory + "/source");
    const std::vector<std::byte> piece(64 * mib, std::byte{42});
    for (std::uint64_t at = 0; at < bytes; at += piece.size())
      source.write(at, std::span(piece).first(std::min<std::uint64_t>(piece.size(), bytes - at)));
  }
  const auto alone = single_process();
  const Staging staging{4096 * mib, std::max(1U, std::thread::hardware_concurrency()), 16384 * mib};
  const double files = time_exchange(*direct_exchange(*alone, staging), directory, bytes);
  const double all = time_exchange(*nccl_exchange(*alone, staging), directory, bytes);
  double link = 0;
  {
    NcclDevice device(0, 0, 1, std::thread::hardware_concurrency());
    const auto memory = device.device_memory(1024 * mib);
    const auto host = device.host_memory(1024 * mib);
    link = time_on_device(device, Queue::up, [&] { device.upload(memory->data(), host->data(), 1024 * mib); }) *
           double(bytes) / double(1024 * mib);
  }
  print("gpu-pipeline", "", all, bytes, files > link ? "reading and writing alone" : "upload alone",
        std::max(files, link), 1.15);
  std::remove((directory + "/source").c_str());
  std::remove((directory + "/target").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw Error(Kind::usage, "gpu_bench", {"no directory", "gpu_bench DIRECTORY [MIB]", ""});
    bench_device();
    bench_pipeline(argv[1], (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 8192) * mib);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 1;
  }
}
