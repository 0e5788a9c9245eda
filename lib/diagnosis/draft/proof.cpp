#include "diagnosis/draft/proof.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/reference.hpp"
#include "checkpoint/source_reader.hpp"
#include "compare/replicas.hpp"
#include "diagnosis/draft/evidence.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::uint64_t box_bytes = 8ULL << 20;  // compared at a time
constexpr std::uint64_t scratch_bytes = 256ULL << 10;

/// How the readers of several threads share the limits of one.
struct ReaderLimits {
  std::uint64_t window_bytes = 0;
  std::size_t most_open = 0;
};

/// Compares a draft's parameters with the reference's, in one thread.
class Comparison {
 public:
  Comparison(const Placement& placement, SourceReader& reader, const Reference& reference,
             std::optional<Tolerance> tolerance, SourceStore& store, const ReaderLimits& limits)
      : placement_(placement),
        reader_(reader),
        reference_(reference),
        tolerance_(tolerance),
        whole_(reference, store, limits.window_bytes, limits.most_open),
        scratch_(scratch_bytes) {}

  /// The first difference of a parameter, in words; empty if there is none.
  std::string difference(ParameterId parameter) {
    const Tensor& tensor = placement_.tensors()[parameter];
    const auto number = reference_.find(tensor.name);
    if (!number || tensor.verbatim) return "";
    const Tensor& other = reference_.tensors()[*number];
    if (!(other.shape == tensor.shape)) return "it has the shape " + to_string(tensor.shape);
    if (!are_comparable(tensor.dtype, other.dtype)) return "";
    if (tolerance_ && !(tensor.dtype.is_float() && other.dtype.is_float())) return "";
    Likeness likeness(tensor.dtype, other.dtype, tolerance_);
    std::string found;
    const std::uint64_t each = std::max<std::uint64_t>(1, box_bytes / std::max<std::uint64_t>(1, tensor.dtype.size));
    const std::uint64_t size = numel(tensor.shape);
    for (std::uint64_t from = 0; from < size && found.empty(); from += each)
      for_each_box(tensor.shape, {from, std::min(size, from + each)}, [&](const Box& box) {
        check_interrupt();
        if (!found.empty()) return;
        compare(parameter, *number, box, likeness);
        if (!tolerance_ && !likeness.holds()) found = "its elements in " + to_string(box) + " differ";
      });
    if (found.empty() && !likeness.holds()) found = "its elements are not near on the whole";
    return found;
  }

  std::uint64_t bytes_read() const noexcept { return bytes_; }

 private:
  void compare(ParameterId parameter, std::size_t number, const Box& box, Likeness& likeness) {
    const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
    ours_.resize(numel(box.shape()) * element);
    const DType& other = reference_.tensors()[number].dtype;
    theirs_.resize(numel(box.shape()) * other.size);
    reader_.read_box(parameter, box, ours_, scratch_.first(scratch_.size()));
    whole_.read(number, box, theirs_);
    bytes_ += ours_.size() + theirs_.size();
    likeness.add(ours_, theirs_);
  }

  const Placement& placement_;
  SourceReader& reader_;
  const Reference& reference_;
  std::optional<Tolerance> tolerance_;
  ReferenceReader whole_;
  Buffer scratch_;
  std::vector<std::byte> ours_;
  std::vector<std::byte> theirs_;
  std::uint64_t bytes_ = 0;
};

/// The first difference of each of these parameters from the reference; empty if there is none. Adds the bytes read.
std::vector<std::string> differences(const Placement& placement, const std::vector<ParameterId>& parameters,
                                     SourceReader& reader, const ProofInput& draft, SourceStore& store,
                                     const ReaderLimits& all, unsigned threads, std::uint64_t& bytes_read) {
  std::vector<std::string> found(parameters.size());
  std::atomic<std::uint64_t> bytes = 0;
  const ReaderLimits each{all.window_bytes / threads, std::max<std::size_t>(1, all.most_open / threads)};
  for_each_in_parallel(
      threads, parameters.size(),
      [&] { return Comparison(placement, reader, *draft.reference, draft.tolerance, store, each); },
      [&](Comparison& comparison, std::uint64_t i) {
        const std::uint64_t before = comparison.bytes_read();
        found[i] = comparison.difference(parameters[i]);
        bytes += comparison.bytes_read() - before;
      });
  bytes_read += bytes;
  return found;
}

}  // namespace

Refutations refute(const ProofInput& draft, const Resources& resources, SourceStore& store, std::uint64_t& bytes_read) {
  const auto alone = single_process();
  const unsigned threads = thread_count(resources, *alone);
  const std::size_t most_open = files_in_cache(threads);
  Refutations refuted;
  const Resolved resolved = resolve(draft.checkpoint, draft.taken);
  const Placement& placement = resolved.placement;
  SourceReader reader(draft.checkpoint, placement, store, resources.memory_bytes / 4, most_open);
  std::vector<bool> is_taken(placement.tensors().size(), true);
  const ReplicatedFiles copies{.checkpoint = draft.checkpoint,
                               .placement = placement,
                               .reader = reader,
                               .is_taken = is_taken,
                               .extent = ReplicaCheck::full,
                               .threads = threads};
  for (const Error& differ : differing_replicas(copies, *alone)) {
    refuted[differ.parameter()] = "its copies differ: " + differ.text().found;
    is_taken[placement.find(differ.parameter()).value()] = false;
  }
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter)
    if (placement.copies(parameter) > 1)
      bytes_read += placement.tensors()[parameter].bytes() * placement.copies(parameter);
  if (draft.reference == nullptr || draft.reference->data() == nullptr) return refuted;
  std::vector<ParameterId> left;
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter)
    if (is_taken[parameter]) left.push_back(parameter);
  const std::vector<std::string> found =
      differences(placement, left, reader, draft, store, {resources.memory_bytes / 4, most_open}, threads, bytes_read);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!found[i].empty()) refuted[placement.tensors()[left[i]].name] = found[i];
  return refuted;
}

}  // namespace ckpt::drafting
