#include "store/pdparams/write_file.hpp"

#include <map>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "store/global_shapes.hpp"
#include "store/pdparams/numpy_types.hpp"
#include "store/pdparams/paddle_file.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/tree_writer.hpp"

namespace ckpt::pdparams {

namespace {

namespace op = torch::op;
using torch::PickleWriter;

/// The oldest protocol with arrays of any size.
constexpr unsigned protocol = 4;

/// A place in a pickle that is written later.
struct Gap {
  std::uint64_t at = 0;  ///< bytes of the pickle before it, without those of other gaps
  std::uint64_t bytes = 0;
  std::size_t array = 0;
};

std::string_view checked_name(const FileSpec::Array& array) {
  const std::string_view name = numpy_name(array.dtype);
  if (name.empty() || array.verbatim)
    throw Error(Kind::input, "/" + array.name,
                {"elements of type " + array.dtype.name + ", which Paddle's files cannot hold", "",
                 "write safetensors or HDF5 instead", leaving_out({array.name.str()})});
  return name;
}

/// Writes arrays as NumPy pickles them.
class ArrayWriter {
 public:
  explicit ArrayWriter(const FileSpec& spec) : spec_(spec) {}

  void write(PickleWriter& out, std::size_t index) {
    const FileSpec::Array& array = spec_.arrays[index];
    const std::uint64_t bytes = checked_mul(numel(array.shape), array.dtype.size, "a tensor");
    out.global("numpy.core.multiarray", "_reconstruct");  // numpy 2 knows this name, too
    out.global("numpy", "ndarray");
    out.numbers({0});
    out.sized(op::short_binbytes, "b");
    out.opcode(op::tuple3, op::reduce, op::mark);
    out.integer(1);
    out.numbers(array.shape);
    type(out, checked_name(array));
    out.boolean(false);
    out.room_for_bytes(bytes);
    gaps_.push_back({out.size(), bytes, index});
    out.opcode(op::tuple, op::build);
  }

  const std::vector<Gap>& gaps() const noexcept { return gaps_; }

 private:
  void type(PickleWriter& out, std::string_view name) {
    if (const auto known = types_.find(name); known != types_.end()) return out.recall(known->second);
    out.global("numpy", "dtype");
    out.text(name);
    out.boolean(false);
    out.boolean(true);
    out.opcode(op::tuple3, op::reduce, op::mark);
    out.integer(3);
    out.text(name.ends_with("1") ? "|" : "<");
    out.opcode(op::none, op::none, op::none);
    out.integer(-1);
    out.integer(-1);
    out.integer(0);
    out.opcode(op::tuple, op::build);
    types_.emplace(name, out.remember());
  }

  const FileSpec& spec_;
  std::map<std::string_view, std::uint32_t> types_;
  std::vector<Gap> gaps_;
};

/// Values before everything else, which are dropped at once: whoever loads the file never sees them.
class OwnValues {
 public:
  explicit OwnValues(const FileSpec& spec) : out_(protocol) {
    if (!spec.layout.empty()) add(layout_name, spec.layout);
    if (const std::string shapes = global_shapes_text(spec); !shapes.empty()) add(global_shapes_name, shapes);
    if (!spec.manifest.empty()) add(manifest_name, spec.manifest);
    if (spec.manifest.size() >= least_manifest_bytes)
      manifest = {out_.size() - 2 - spec.manifest.size(), out_.size() - 2};
    bytes = out_.take();
    bytes.pop_back();  // the end of a pickle
  }

  std::string bytes;
  std::optional<Interval> manifest;

 private:
  void add(std::string_view name, std::string_view value) {
    out_.text(name);
    out_.sized(op::binbytes8, value);
    out_.opcode(op::pop, op::pop);
  }

  PickleWriter out_;
};

}  // namespace

NewFile form_of(const FileSpec& spec) {
  ArrayWriter arrays(spec);
  const std::string tree =
      torch::write_tree(spec, protocol, [&](PickleWriter& out, std::size_t array) { arrays.write(out, array); });
  constexpr std::size_t head_bytes = 2;  // the protocol, which the own values have, too
  OwnValues own(spec);
  NewFile made;
  made.room.manifest = own.manifest;
  made.room.is_in_order = false;
  made.room.data.resize(spec.arrays.size());
  std::string bytes = std::move(own.bytes);
  std::uint64_t offset = 0;
  std::uint64_t done = head_bytes;
  const auto end_segment = [&] {
    const std::uint64_t size = bytes.size();
    made.room.metadata += sum_of(std::as_bytes(std::span(bytes)), offset);
    made.segments.push_back({offset, std::exchange(bytes, {})});
    offset = checked_add(offset, size, "a file");
  };
  for (const Gap& gap : arrays.gaps()) {
    bytes += std::string_view(tree).substr(done, gap.at - done);
    done = gap.at;
    if (gap.bytes == 0) continue;
    end_segment();
    made.room.data[gap.array] = FileExtents(offset, gap.bytes);
    offset = checked_add(offset, gap.bytes, "a file");
  }
  bytes += std::string_view(tree).substr(done);
  end_segment();
  made.room.bytes = offset;
  if (made.room.manifest)
    made.room.metadata = made.room.metadata - sum_of(std::as_bytes(std::span(spec.manifest)), made.room.manifest->lo);
  return made;
}

std::string_view refused_by(const DType& dtype) noexcept {
  const bool is_refused = dtype.kind == ElementKind::unsigned_integer && (dtype.size == 4 || dtype.size == 8);
  return is_refused ? "paddle.load" : "";
}

std::vector<std::string> losses(const FileSpec& spec) {
  std::vector<std::string> lost = torch::lost_attributes(spec);
  for (const FileSpec::Array& array : spec.arrays) checked_name(array);
  if (auto attributes = lost_attributes_of_arrays(spec); !attributes.empty()) lost.push_back(std::move(attributes));
  return lost;
}

}  // namespace ckpt::pdparams
