#include "store/pdparams/skimmed_pickle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "store/pickle/little_endian.hpp"
#include "store/pickle/opaque.hpp"
#include "store/pickle/pickle_machine.hpp"

namespace ckpt::pdparams {

namespace {

namespace op = torch::op;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;
using torch::PickleNode;

/// Shorter bytes and texts are read, since a name may be one.
constexpr std::uint64_t shortest_left_out = 512;
/// Each byte of a pickle takes about 64 bytes of nodes.
constexpr std::uint64_t most_pickle_bytes = 512U << 20;
constexpr std::size_t window_bytes = 256U << 10;

[[noreturn]] void refuse_end() {
  throw Error(Kind::input, "its pickle", {"ends before its object does", "a whole one", "is the file truncated?"});
}

/// What follows an opcode: bytes that belong to it, or a length and as many bytes.
struct Operand {
  std::size_t bytes = 0;
  bool is_length = false;
  bool may_be_left_out = false;
  std::size_t lines = 0;
};

Operand operand_of(unsigned char opcode) {
  switch (opcode) {
    case op::binint1:
    case op::binput:
    case op::binget:
    case op::proto:
      return Operand{1};
    case op::binint2:
      return Operand{2};
    case op::binint:
    case op::long_binput:
    case op::long_binget:
      return Operand{4};
    case op::binfloat:
    case op::frame:
      return Operand{8};
    case op::short_binstring:
    case op::short_binbytes:
    case op::short_binunicode:
    case op::long1:
      return Operand{1, true};
    case op::long4:
      return Operand{4, true};
    case op::binunicode:
    case op::binstring:
    case op::binbytes:
      return Operand{4, true, true};
    case op::binunicode8:
    case op::binbytes8:
    case op::bytearray8:
      return Operand{8, true, true};
    case op::global:
      return Operand{0, false, false, 2};
    default:
      return Operand{};  // the machine refuses opcodes that it does not know
  }
}

/// Reads a file from its start, skipping parts.
class Skimmer {
 public:
  Skimmer(const PosixFile& file, std::uint64_t file_bytes) : file_(file), end_(file_bytes) {}

  void run() {
    moved.emplace(0, 0);
    for (;;) {
      const auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == op::stop) return;
      const Operand operand = operand_of(opcode);
      for (std::size_t i = 0; i < operand.lines; ++i)
        while (take(1)[0] != '\n') {
        }
      const std::string_view taken = take(operand.bytes);
      if (operand.is_length) payload(torch::little_endian(taken), operand);
    }
  }

  std::uint64_t at() const noexcept { return at_; }
  std::string bytes;
  std::map<std::uint64_t, std::uint64_t> moved;
  std::map<std::uint64_t, Interval> left_out;

 private:
  std::string_view take(std::uint64_t count) {
    if (count > end_ - at_) refuse_end();
    if (count > most_pickle_bytes - std::min<std::uint64_t>(bytes.size(), most_pickle_bytes))
      throw Error(Kind::input, "its pickle",
                  {"more than " + format_bytes(most_pickle_bytes) + " besides arrays", "less", "is the file damaged?"});
    const std::size_t before = bytes.size();
    while (count > 0) {
      if (at_ < window_start_ || at_ >= window_start_ + window_.size()) fill();
      const std::uint64_t from = at_ - window_start_;
      const std::uint64_t now = std::min<std::uint64_t>(count, window_.size() - from);
      bytes.append(window_, from, now);
      at_ += now;
      count -= now;
    }
    return std::string_view(bytes).substr(before);
  }

  void fill() {
    window_start_ = at_;
    window_ = file_.text(at_, std::min<std::uint64_t>(window_bytes, end_ - at_));
  }

  void payload(std::uint64_t count, const Operand& operand) {
    if (count > end_ - at_) refuse_end();
    if (count < shortest_left_out || !operand.may_be_left_out) {
      take(count);
      return;
    }
    std::fill_n(bytes.end() - static_cast<std::ptrdiff_t>(operand.bytes), operand.bytes, '\0');
    left_out.emplace(bytes.size(), Interval{at_, at_ + count});
    at_ += count;
    moved.insert_or_assign(bytes.size(), at_);
  }

  const PosixFile& file_;
  std::uint64_t end_;
  std::uint64_t at_ = 0;
  std::string window_;
  std::uint64_t window_start_ = 0;
};

}  // namespace

SkimmedPickle SkimmedPickle::read(const PosixFile& file, std::uint64_t file_bytes) {
  Skimmer skimmer(file, file_bytes);
  skimmer.run();
  if (skimmer.at() != file_bytes)
    throw Error(Kind::input, "its pickle",
                {"ends at byte " + std::to_string(skimmer.at()), std::to_string(file_bytes) + ", the end of the file",
                 "is the file damaged, or several files in one?"});
  SkimmedPickle made;
  made.bytes_ = std::make_unique<const std::string>(std::move(skimmer.bytes));
  made.moved_ = std::move(skimmer.moved);
  made.left_out_ = std::move(skimmer.left_out);
  std::size_t at = 0;
  auto pickle = Pickle::read(*made.bytes_, at);
  if (!pickle) refuse_end();
  made.pickle_ = std::move(*pickle);
  return made;
}

std::uint64_t SkimmedPickle::position_of(std::string_view text) const {
  return static_cast<std::uint64_t>(text.data() - bytes_->data());
}

bool SkimmedPickle::is_left_out(std::string_view text) const {
  return text.empty() && text.data() >= bytes_->data() && text.data() <= bytes_->data() + bytes_->size() &&
         left_out_.contains(position_of(text));
}

Interval SkimmedPickle::place_of(std::string_view text) const {
  const std::uint64_t position = position_of(text);
  if (const auto found = left_out_.find(position); found != left_out_.end() && text.empty()) return found->second;
  const auto [from, offset] = *std::prev(moved_.upper_bound(position));
  return {offset + (position - from), offset + (position - from) + text.size()};
}

void SkimmedPickle::complete(const PosixFile& file, const std::set<PickleId>& others) {
  std::uint64_t total = 0;
  for (PickleId id = 0; id < pickle_.nodes().size(); ++id) {
    const PickleNode& node = pickle_[id];
    const bool has_text = node.kind == PickleKind::text || node.kind == PickleKind::bytes;
    if (!has_text || others.contains(id) || !is_left_out(node.text)) continue;
    const Interval place = place_of(node.text);
    torch::check_object_bytes(total += place.size());
    pickle_.change(id).text = pickle_.keep(file.text(place.lo, place.size()));
  }
}

}  // namespace ckpt::pdparams
