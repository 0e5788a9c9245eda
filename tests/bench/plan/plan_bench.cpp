// Plans the resharding of large models, everything but the bytes, over a catalog in memory. Prints one JSON object.
//   plan_bench                a 405 B model with two Adam moments from 16,384 cards to 12,288: what one of 1,024
//                             processes does for its share, and what --dry-run's summary of all of it costs
//   plan_bench gshard LAYOUT  GShard's 41 B model with slots and accumulators from that layout's 512 devices to 448:
//                             what --dry-run costs

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "bench/plan/llama.hpp"
#include "jobs/summary.hpp"
#include "layout/placement/resolve.hpp"
#include "output/file_workload.hpp"
#include "plan/planner.hpp"

namespace {

using namespace ckpt;
using namespace ckpt::llama;

constexpr std::uint32_t processes = 1024;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<ParameterId> each_from_its_own(const Placement& placement) {
  std::vector<ParameterId> same(placement.tensors().size());
  std::iota(same.begin(), same.end(), ParameterId{0});
  return same;
}

long long peak_bytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<long long>(usage.ru_maxrss) * 1024;
}

void plan_405b() {
  const auto files = card_arrays(resolve_target(layout(16, 128), model()).placement);

  const double start = now();
  const Resolved source = resolve_source(layout(16, 128), files);
  const double source_resolved = now();
  const Resolved target = resolve_target(layout(16, 96), source.placement.tensors());
  Owners owners(source.placement.mesh().size());
  for (Position card = 0; card < owners.size(); ++card)
    owners[card] = static_cast<std::uint32_t>(card * processes / owners.size());
  const Readers readers(source.placement, owners);
  const Planner planner(source.placement, target.placement, each_from_its_own(source.placement), readers);
  const WriteShares shares(target.placement, processes);
  const double resolved = now();

  ChunkSequence chunks(target.placement, shares.written_by(1), 4ULL << 20);
  chunks.take_share(shares, 1);
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
  while (const auto chunk = chunks.next())
    bytes += planner.for_each_transfer(*chunk, 1, [&](const Transfer&) { ++transfers; });
  const double planned = now();

  Report report;
  summarise({planner, readers, shares, {}}, report);
  const double summarised = now();
  const double mean = double(report.bytes_to_write) * 2 / processes;
  std::printf(
      "{\"resolve_source_seconds\": %.3f, \"resolve_seconds\": %.3f, \"share_seconds\": %.3f, \"summary_seconds\": "
      "%.3f, "
      "\"peak_bytes\": %lld, \"share_transfers\": %llu, \"share_bytes\": %llu, \"bytes_to_write\": %llu, "
      "\"busiest_over_mean\": %.3f}\n",
      source_resolved - start, resolved - start, planned - start, (summarised - planned) + (resolved - start),
      peak_bytes(), static_cast<unsigned long long>(transfers), static_cast<unsigned long long>(bytes),
      static_cast<unsigned long long>(report.bytes_to_write), double(report.busiest_process_bytes) / mean);
}

/// Lingvo's DenseLm12kWide41BAdam16x16: every second layer is attention, so that 24 of each; with Adam's slots and an
/// accumulator of gradients for each variable.
std::vector<Tensor> gshard_model() {
  constexpr std::uint64_t pairs = 24;
  constexpr std::uint64_t width = 12288;
  constexpr std::uint64_t inner = 49152;
  constexpr std::uint64_t heads = 96;
  constexpr std::uint64_t head = 128;
  std::vector<Tensor> tensors;
  const auto add = [&](const std::string& name, const Shape& shape) {
    for (const char* const slot : {"", ".Adam", ".Adam_1", ".grad_accum"})
      tensors.push_back({name + slot, *number_type("f32"), shape, false});
  };
  add("dense_lm.emb.embedding.var", {32000, width});
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const std::string layer = "dense_lm.dec.layer_" + std::to_string(i) + ".";
    for (const char* const weight : {"wq", "wk", "wv"})
      add(layer + "dec_self_attention.w." + weight + ".var", {width, heads, head});
    add(layer + "dec_self_attention.w.wo.var", {heads, head, width});
    add(layer + "dense_relu_dense.w.wi.var", {width, inner});
    add(layer + "dense_relu_dense.w.wo.var", {inner, width});
    add(layer + "ln.w.scale.var", {width});
  }
  tensors.push_back({"dense_lm.beta1_power", *number_type("f32"), {}, false});
  tensors.push_back({"global_step", *number_type("i64"), {}, false});
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  return tensors;
}

void plan_gshard(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto files = card_arrays(resolve_target(parse_layout(text, path), gshard_model()).placement);

  const double start = now();
  const Layout from = parse_layout(text, path);
  const Resolved source = resolve_source(from, files);
  const Resolved target = resolve_target(on_mesh(from, {{"y", 28}}, "--to-mesh"), source.placement.tensors());
  const Readers readers(source.placement, Owners{});
  const Planner planner(source.placement, target.placement, each_from_its_own(source.placement), readers);
  Report report;
  summarise({planner, readers, WriteShares(target.placement, 1), {}}, report);
  std::printf(
      "{\"seconds\": %.3f, \"peak_bytes\": %lld, \"source_cards\": %llu, \"target_cards\": %llu, "
      "\"parameters\": %zu, \"bytes_to_write\": %llu}\n",
      now() - start, peak_bytes(), static_cast<unsigned long long>(source.placement.mesh().size()),
      static_cast<unsigned long long>(target.placement.mesh().size()), source.placement.tensors().size(),
      static_cast<unsigned long long>(report.bytes_to_write));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    argc == 3 && std::string(argv[1]) == "gshard" ? plan_gshard(argv[2]) : plan_405b();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plan_bench: %s\n", error.what());
    return 1;
  }
}
