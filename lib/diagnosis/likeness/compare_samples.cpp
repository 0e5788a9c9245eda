#include "diagnosis/likeness/compare_samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/parallel.hpp"
#include "processes/gather_all.hpp"
#include "tensor/cast.hpp"

namespace ckpt::likeness {

namespace {

constexpr std::size_t scratch_bytes = 256UL << 10;
constexpr std::size_t most_kept = 256;  // elements of a vector that are compared with other vectors

/// A box of a question, and what a process has read of it.
struct Answer {
  std::uint64_t question = 0;
  std::uint64_t box = 0;
  std::vector<Moments> blocks = {};
  std::vector<float> ours = {};  // of a vector; NaN: another process reads it
  std::vector<float> theirs = {};
};

/// A thread's memory.
struct Room {
  std::vector<std::byte> bytes;
  std::vector<std::byte> scratch = std::vector<std::byte>(scratch_bytes);
  std::vector<bool> is_read;
  std::vector<float> ours;
  std::vector<float> theirs;
};

std::vector<float> as_floats(std::span<const std::byte> bytes, const DType& dtype, std::vector<float> to) {
  to.resize(bytes.size() / dtype.size);
  const Cast cast(*number_format(dtype), *number_format(*number_type("f32")));
  cast.run(bytes.data(), reinterpret_cast<std::byte*>(to.data()), to.size(), [](std::uint64_t) {});
  return to;
}

/// Marks the elements of a buffer that a transfer fills.
void mark(const Transfer& transfer, std::vector<bool>& is_read) {
  const Shape shape = transfer.source.box.shape();
  Shape index(shape.size());
  for (std::uint64_t left = numel(shape); left > 0; --left) {
    std::uint64_t at = transfer.target_offset / transfer.element;
    for (std::size_t d = 0; d < shape.size(); ++d) at += index[d] * transfer.target_strides[d];
    is_read[at] = true;
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
}

class Answering {
 public:
  Answering(const std::vector<Question>& questions, const Compared& compared, const Communicator& processes)
      : questions_(questions), compared_(compared), process_(static_cast<std::uint32_t>(processes.rank())) {
    const auto count = static_cast<std::uint64_t>(processes.size());
    std::uint64_t number = 0;
    for (std::uint64_t q = 0; q < questions.size(); ++q)
      for (std::uint64_t box = 0; box < questions[q].boxes.boxes.size(); ++box, ++number)
        if (!compared.readers.is_shared() || number % count == process_) mine_.push_back({q, box});
  }

  std::vector<Answer> read() {
    for_each_in_parallel(
        compared_.threads, mine_.size(), [] { return Room(); },
        [&](Room& room, std::uint64_t n) { read(mine_[n], room); });
    return std::move(mine_);
  }

 private:
  void read(Answer& answer, Room& room) const {
    const Question& question = questions_[answer.question];
    const Box& box = question.boxes.boxes[answer.box];
    if (!read_ours(question, box, room)) return;
    room.bytes.resize(numel(box.shape()) * question.other_dtype.size);
    compared_.other.read_box(question.other, box, room.bytes, room.scratch);
    room.theirs = as_floats(room.bytes, question.other_dtype, std::move(room.theirs));
    const Shape shape(question.planner->target().tensors()[question.parameter].shape);
    const std::span<const float> ours(room.ours);
    const std::span<const float> theirs(room.theirs);
    for (const Interval& block : blocks_of(question.boxes, answer.box, shape))
      answer.blocks.push_back(moments_of(ours.subspan(block.lo, block.size()), theirs.subspan(block.lo, block.size())));
    if (shape.size() != 1) return;
    const auto kept = static_cast<std::ptrdiff_t>(std::min(ours.size(), most_kept));
    answer.ours.assign(ours.begin(), ours.begin() + kept);
    answer.theirs.assign(theirs.begin(), theirs.begin() + kept);
  }

  /// Returns whether this process reads any of the box. Elements that it does not read, and padding, are NaN.
  bool read_ours(const Question& question, const Box& box, Room& room) const {
    const Planner& planner = *question.planner;
    const DType& dtype = planner.source().tensors()[planner.source_of(question.parameter)].dtype;
    const Shape shape = box.shape();
    room.bytes.assign(numel(shape) * dtype.size, std::byte{0});
    std::uint64_t found = 0;
    room.is_read.assign(numel(shape), false);
    const Region wanted{box, 0, row_major_strides(shape)};
    planner.for_each_transfer(question.parameter, wanted, 0, process_, [&](const Transfer& transfer) {
      if (!compared_.readers.is_shared() && compared_.readers.owner(transfer.card) != process_) return;
      compared_.source.read(transfer, room.bytes.data() + transfer.target_offset, room.scratch);
      found += transfer.bytes();
      if (transfer.bytes() < room.bytes.size()) mark(transfer, room.is_read);
    });
    if (found == 0) return false;
    room.ours = as_floats(room.bytes, dtype, std::move(room.ours));
    if (const Scaling* const scaling = planner.scaling(question.parameter))
      scaling->apply(room.ours.data(), room.ours.size());
    if (found < room.bytes.size())
      for (std::size_t i = 0; i < room.ours.size(); ++i)
        if (!room.is_read[i]) room.ours[i] = std::numeric_limits<float>::quiet_NaN();
    return true;
  }

  const std::vector<Question>& questions_;
  const Compared& compared_;
  std::uint32_t process_;
  std::vector<Answer> mine_;
};

void add(const Answer& answer, std::vector<Moments>& blocks, TensorSample& sample) {
  if (blocks.empty()) blocks.resize(answer.blocks.size());
  for (std::size_t b = 0; b < answer.blocks.size(); ++b) blocks[b].add(answer.blocks[b]);
  if (sample.ours.empty()) {
    sample.ours = answer.ours;
    sample.theirs = answer.theirs;
  }
  for (std::size_t i = 0; i < answer.ours.size(); ++i)
    if (std::isnan(sample.ours[i])) sample.ours[i] = answer.ours[i];
}

}  // namespace

std::vector<TensorSample> answers(const std::vector<Question>& questions, const Compared& compared,
                                  Communicator& processes) {
  std::vector<Answer> mine;
  agree(processes, [&] { mine = Answering(questions, compared, processes).read(); });
  std::vector<TensorSample> samples;
  std::vector<std::vector<std::vector<Moments>>> blocks;  // by question and box
  for (const Question& question : questions) {
    const Tensor& tensor = question.planner->target().tensors()[question.parameter];
    samples.push_back({tensor.name, Shape(tensor.shape), question.boxes.is_cut_anew, {}, {}, {}});
    blocks.emplace_back(question.boxes.boxes.size());
  }
  for (const auto& theirs : gather_all(mine, processes))
    for (const Answer& answer : theirs)
      add(answer, blocks.at(answer.question).at(answer.box), samples.at(answer.question));
  for (std::size_t q = 0; q < samples.size(); ++q)
    for (const std::vector<Moments>& of_box : blocks[q])
      samples[q].blocks.insert(samples[q].blocks.end(), of_box.begin(), of_box.end());
  return samples;
}

}  // namespace ckpt::likeness
