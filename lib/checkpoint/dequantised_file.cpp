#include "checkpoint/dequantised_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "tensor/cast.hpp"
#include "tensor/number.hpp"
#include "tensor/products.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

namespace {

using Form = QuantisedWeight::Form;
using ReadPart = std::function<void(const StoredPart& part, std::uint64_t offset, std::span<std::byte> out)>;

constexpr std::uint64_t piece_elements = 256 << 10;  // whose codes are read at a time
constexpr std::uint64_t run_elements = 1024;         // looked up at a time, so that they stay in a core's nearest cache
constexpr std::uint64_t least_for_table = 1024;      // with one scale, so that a table of all products pays
constexpr std::uint64_t decoded_bytes = 4ULL << 20;  // of rows that are decoded together
constexpr std::uint64_t stretch_bytes = 256ULL << 10;  // read at a time if runs lie close together
constexpr std::uint64_t close_bytes = 4096;            // a call takes longer than to read what is between such rows
constexpr std::size_t most_others = 4;                 // files with scales that one file keeps open
constexpr std::uint64_t panel_rows = 64;               // rows that are turned at a time
constexpr std::uint64_t word_codes = 8;
constexpr std::array<std::uint32_t, word_codes> in_order{0, 4, 8, 12, 16, 20, 24, 28};   // where a column's code begins
constexpr std::array<std::uint32_t, word_codes> awq_order{0, 16, 4, 20, 8, 24, 12, 28};  // likewise

NumberFormat single() {
  return {ElementKind::ieee_float, sizeof(float), false, true};
}

/// Nothing unless the lower halves of all numbers are 0, as those of codes of 8 bits.
std::optional<ShortNumbers> upper_halves(const CodeNumbers& numbers) {
  ShortNumbers halves;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(numbers[i]);
    if ((bits & 0xffffU) != 0) return std::nullopt;
    halves[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  return halves;
}

std::span<std::byte> bytes_of(std::span<float> numbers) {
  return std::as_writable_bytes(numbers);
}

/// One weight being decoded; not shared by threads.
class Decoder {
 public:
  Decoder(const StoredWeight& stored, const ReadPart& read_part, std::once_flag& are_read, WeightTables& tables)
      : stored_(stored),
        form_(stored.form),
        read_part_(read_part),
        tables_(tables_in(are_read, tables)),
        halves_(form_.packing == CodePacking::bytes ? upper_halves(tables_.codes.numbers()) : std::nullopt),
        products_(number_format(stored.dtype).value(), tables_.has_infinity) {}

  /// Decodes elements of a weight whose codes lie in its own order.
  void decode(Interval elements, std::span<std::byte> out) {
    const Shape shape = form_.form == Form::bitsandbytes ? Shape{numel(form_.shape)} : form_.shape;
    const std::uint64_t columns = shape[shape.size() - 1];
    while (!elements.empty()) {
      const std::uint64_t in_row = elements.lo % columns;
      std::uint64_t count = std::min({columns - in_row, elements.size(), piece_elements});
      if (in_row == 0 && count == columns) {  // whole rows of one matrix
        const std::uint64_t matrix = shape.size() > 1 ? shape[shape.size() - 2] : 1;
        const std::uint64_t left = matrix - elements.lo / columns % matrix;
        count =
            columns * std::max<std::uint64_t>(1, std::min({left, elements.size() / columns, piece_elements / columns}));
      }
      decode_piece(shape, {elements.lo, elements.lo + count}, out.first(count * stored_.dtype.size));
      out = out.subspan(count * stored_.dtype.size);
      elements.lo += count;
    }
  }

  /// Decodes rows of one matrix of a weight whose codes lie in another order.
  void decode_rows(std::uint64_t outer, Interval rows, std::span<std::byte> out) {
    if (form_.form == Form::mxfp4) return decode_mxfp4(outer, rows, out);
    decode_words(rows, out);
  }

 private:
  void read(const StoredPart& part, std::uint64_t offset, std::span<std::byte> out) const {
    read_part_(part, offset, out);
  }

  /// Reads bytes of each of `count` rows of `pitch` bytes, one after the other.
  std::vector<std::byte> read_rows(const StoredPart& part, std::uint64_t first, std::uint64_t count,
                                   std::uint64_t pitch, Interval wanted) const {
    std::vector<std::byte> rows(count * wanted.size());
    if (wanted.size() == pitch) {
      read(part, first * pitch, rows);
      return rows;
    }
    const bool are_close = pitch <= close_bytes || wanted.size() * 2 >= pitch;
    const std::uint64_t at_a_time = are_close ? std::max<std::uint64_t>(1, stretch_bytes / pitch) : 1;
    std::vector<std::byte> stretch;
    for (std::uint64_t row = 0; row < count; row += at_a_time) {
      const std::uint64_t here = std::min(at_a_time, count - row);
      const std::uint64_t start = (first + row) * pitch + wanted.lo;
      std::byte* const to = rows.data() + row * wanted.size();
      if (here == 1) {
        read(part, start, {to, wanted.size()});
        continue;
      }
      stretch.resize((here - 1) * pitch + wanted.size());
      read(part, start, stretch);
      for (std::uint64_t i = 0; i < here; ++i)
        std::memcpy(to + i * wanted.size(), stretch.data() + i * pitch, wanted.size());
    }
    return rows;
  }

  /// Numbers of any type as f32; bytes are exponents.
  std::vector<float> as_floats(const DType& dtype, std::span<const std::byte> bytes) const {
    std::vector<float> numbers(bytes.size() / dtype.size);
    if (dtype.is_float()) {
      Cast(number_format(dtype).value(), single())
          .run(bytes.data(), bytes_of(numbers).data(), numbers.size(), [](std::uint64_t) {});
      return numbers;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (bytes[i] == e8m0_nan)
        throw Error(Kind::input, "parameter '" + form_.name + "'",
                    {"a scale in '" + form_.scales + "' is 255, which is no number", "exponents of 0 to 254",
                     "is the file damaged?"});
      numbers[i] = e8m0_number(bytes[i]);
    }
    return numbers;
  }

  std::vector<float> floats(const StoredPart& part, Interval elements) const {
    std::vector<std::byte> bytes(elements.size() * part.dtype.size);
    read(part, elements.lo * part.dtype.size, bytes);
    return as_floats(part.dtype, bytes);
  }

  const WeightTables& tables_in(std::once_flag& are_read, WeightTables& tables) const {
    std::call_once(are_read, [&] {
      const CodeNumbers numbers = numbers_of_codes();
      tables.codes = {form_.packing, numbers};
      tables.has_infinity = std::ranges::any_of(numbers, [](float number) { return std::isinf(number); });
      if (stored_.factor) tables.factor = floats(*stored_.factor, {0, 1}).front();
      CodeNumbers outer{};
      if (stored_.outer_numbers) std::ranges::copy(floats(*stored_.outer_numbers, {0, outer.size()}), outer.begin());
      tables.outer_codes = {CodePacking::bytes, outer};
    });
    return tables;
  }

  CodeNumbers numbers_of_codes() const {
    if (form_.is_e2m1) return numbers_of_e2m1();
    if (!stored_.numbers) return numbers_of_bytes(stored_.codes.dtype.kind);
    CodeNumbers numbers{};
    const std::vector<float> table = floats(*stored_.numbers, {0, 16});
    std::copy(table.begin(), table.end(), numbers.begin());
    return numbers;
  }

  std::vector<float> scales(Interval elements) const {
    if (!stored_.outer_scales) {
      std::vector<float> scales = floats(stored_.scales, elements);
      if (stored_.factor)
        for (float& scale : scales) scale = form_.divides_by_factor ? scale / tables_.factor : scale * tables_.factor;
      return scales;
    }
    std::vector<std::byte> codes(elements.size());
    read(stored_.scales, elements.lo, codes);
    std::vector<float> scales(elements.size());
    tables_.outer_codes.look_up(codes, 0, scales);
    const std::uint64_t block = form_.outer_block;
    const Interval outer{elements.lo / block, (elements.hi - 1) / block + 1};
    const std::vector<float> of_blocks = floats(*stored_.outer_scales, outer);
    scale_blocks(scales, {of_blocks, block, elements.lo % block});
    for (float& scale : scales) scale += form_.outer_offset;
    return scales;
  }

  void decode_piece(const Shape& shape, Interval elements, std::span<std::byte> out) {
    const std::uint64_t per_byte = codes_per_byte(form_.packing);
    const Interval bytes{elements.lo / per_byte, ceil_div(elements.hi, per_byte)};
    codes_.resize(bytes.size());
    read(stored_.codes, bytes.lo, codes_);
    const std::size_t last = shape.size() - 1;
    const std::uint64_t columns = shape[last];
    const std::uint64_t block = form_.block[last];
    const std::uint64_t per_row = ceil_div(columns, block);
    const std::uint64_t first_row = elements.lo / columns;
    const std::uint64_t last_row = (elements.hi - 1) / columns;
    const std::uint64_t column = elements.lo % columns;
    const std::uint64_t in_row = std::min(columns, elements.size());
    const Interval needed{scale_row(shape, first_row) * per_row + column / block,
                          scale_row(shape, last_row) * per_row + (column + in_row - 1) / block + 1};
    const std::vector<float> scale = scales(needed);
    const std::uint64_t size = stored_.dtype.size;
    for (std::uint64_t row = first_row, next = row; row <= last_row; row = next) {
      while (next <= last_row && scale_row(shape, next) == scale_row(shape, row)) ++next;
      const std::uint64_t skipped = (row - first_row) * columns;
      const BlockScales all{scale, block, scale_row(shape, row) * per_row * block + column - needed.lo * block};
      const Rows rows{next - row, in_row, columns, elements.lo - bytes.lo * per_byte + skipped, all.from(0)};
      decode_alike(rows, out.subspan(skipped * size));
    }
  }

  /// Rows with the same scales: `length` elements each, at distances of `pitch`.
  struct Rows {
    std::uint64_t count = 0;
    std::uint64_t length = 0;
    std::uint64_t pitch = 0;
    std::uint64_t code = 0;  ///< the number of the first one, among those that were read
    BlockScales scales;
  };

  void decode_alike(const Rows& rows, std::span<std::byte> out) {
    if (form_.packing == CodePacking::bytes && stored_.dtype.size == sizeof(ShortNumbers::value_type) &&
        rows.count * std::min(rows.length, rows.scales.block) >= least_for_table)
      return decode_blocks(rows, out);
    for (std::uint64_t row = 0; row < rows.count; ++row)
      decode_run(rows.code + row * rows.pitch, rows.length, rows.scales,
                 out.data() + row * rows.pitch * stored_.dtype.size);
  }

  /// Decodes block by block, by a table of all products.
  void decode_blocks(const Rows& rows, std::span<std::byte> out) {
    const std::uint64_t size = stored_.dtype.size;
    for (std::uint64_t begin = 0, end = 0; begin < rows.length; begin = end) {
      const BlockScales scales = rows.scales.from(begin);
      end = std::min(rows.length, begin + scales.block - scales.first);
      const auto table = products_.table(tables_.codes.numbers(), scales.scales.front(), form_.divisor);
      for (std::uint64_t row = 0; row < rows.count; ++row) {
        const std::uint64_t at = row * rows.pitch + begin;
        if (table)
          product_steps().front().look_up(codes_.data() + rows.code + at, *table, out.data() + at * size, end - begin);
        else
          decode_run(rows.code + at, end - begin, scales, out.data() + at * size);
      }
    }
  }

  /// Decodes elements of a row, from a code on.
  void decode_run(std::uint64_t code, std::uint64_t count, const BlockScales& scales, std::byte* out) {
    for (std::uint64_t done = 0; done < count; done += run_elements) {
      const auto values = std::span(values_).first(std::min(run_elements, count - done));
      if (halves_)
        product_steps().front().look_up_halves(codes_.data() + code + done, *halves_, values.data(), values.size());
      else
        tables_.codes.look_up(codes_, code + done, values);
      finish(values, scales.from(done), out + done * stored_.dtype.size);
    }
  }

  /// The row of scales, all outer dimensions counted together, that a row of the weight has.
  std::uint64_t scale_row(const Shape& shape, std::uint64_t row) const {
    std::uint64_t scale = 0;
    std::uint64_t stride = 1;
    for (std::size_t d = shape.size() - 1; d-- > 0; row /= shape[d]) {
      scale += row % shape[d] / form_.block[d] * stride;
      stride *= ceil_div(shape[d], form_.block[d]);
    }
    return scale;
  }

  void finish(std::span<float> values, BlockScales scales, std::byte* out) const {
    static constexpr float one = 1;
    if (form_.divisor != 1) {
      scale_blocks(values, scales);
      for (float& value : values) value /= form_.divisor;
      scales = {{&one, 1}, values.size(), 0};
    }
    if (products_.run(values, scales, out)) stored_.has_overflowed.test_and_set();
  }

  /// Puts decoded rows, of which `length` elements at distances of `width` are wanted, into columns of `pitch`
  /// elements.
  void turn(std::uint64_t rows, std::uint64_t length, std::uint64_t width, std::uint64_t pitch, const std::byte* panel,
            std::byte* out) const {
    run(strided_copy(Shape{rows, length}, Shape{width, 1}, Shape{1, pitch}, stored_.dtype.size), panel, out);
  }

  void decode_mxfp4(std::uint64_t expert, Interval inputs, std::span<std::byte> out) {
    const std::uint64_t outputs = form_.shape[2];
    const std::uint64_t blocks = stored_.scales.shape[2];
    const std::uint64_t block = form_.block[1];
    const std::uint64_t bytes = block / 2;
    const Interval wanted{inputs.lo / block, ceil_div(inputs.hi, block)};
    const std::uint64_t skipped = inputs.lo % block;
    const std::uint64_t size = stored_.dtype.size;
    for (std::uint64_t first = 0; first < outputs; first += panel_rows) {
      const std::uint64_t here = std::min(panel_rows, outputs - first);
      const std::uint64_t row = expert * outputs + first;
      codes_ = read_rows(stored_.codes, row, here, blocks * bytes, {wanted.lo * bytes, wanted.hi * bytes});
      const auto scale = as_floats(stored_.scales.dtype, read_rows(stored_.scales, row, here, blocks, wanted));
      panel_.resize(here * inputs.size() * size);
      for (std::uint64_t i = 0; i < here; ++i)
        decode_run(i * wanted.size() * block + skipped, inputs.size(),
                   {std::span(scale).subspan(i * wanted.size()), block, skipped},
                   panel_.data() + i * inputs.size() * size);
      turn(here, inputs.size(), inputs.size(), outputs, panel_.data(), out.data() + first * size);
    }
  }

  /// The group of each input, if the weight says them.
  std::vector<std::byte> groups() const {
    if (!stored_.groups) return {};
    std::vector<std::byte> groups(form_.shape[1] * sizeof(std::uint32_t));
    read(*stored_.groups, 0, groups);
    return groups;
  }

  std::uint64_t group_of(std::span<const std::byte> groups, std::uint64_t input) const {
    if (groups.empty()) return input / form_.block[1];
    std::uint32_t group = 0;
    std::memcpy(&group, groups.data() + input * sizeof group, sizeof group);
    if (group >= stored_.scales.shape[0])
      throw Error(Kind::input, "parameter '" + form_.name + "'",
                  {"'" + form_.groups + "' puts input " + std::to_string(input) + " into group " +
                       std::to_string(static_cast<std::int32_t>(group)),
                   "one of " + std::to_string(stored_.scales.shape[0]), "is the file damaged?"});
    return group;
  }

  void decode_words(Interval wanted, std::span<std::byte> out) {
    const bool is_gptq = form_.form == Form::gptq;
    const auto& order = is_gptq ? in_order : awq_order;
    const std::uint64_t inputs = form_.shape[1];
    const std::uint64_t end = ceil_div(wanted.hi, word_codes) * word_codes;
    const Interval outputs{wanted.lo / word_codes * word_codes, std::min(form_.shape[0], end)};
    const std::uint64_t count = outputs.size();
    const std::uint64_t padded = end - outputs.lo;  // zero points, which fill their words
    const std::uint64_t groups_count = stored_.scales.shape[0];
    const std::uint64_t scale_size = stored_.scales.dtype.size;
    constexpr std::uint64_t word = sizeof(std::uint32_t);
    const Interval words{outputs.lo / word_codes * word, end / word_codes * word};  // of outputs
    const auto scale =
        as_floats(stored_.scales.dtype, read_rows(stored_.scales, 0, groups_count, form_.shape[0] * scale_size,
                                                  {outputs.lo * scale_size, outputs.hi * scale_size}));
    const auto packed_zeros = read_rows(*stored_.zeros, 0, groups_count, stored_.zeros->shape[1] * word, words);
    const ProductSteps& steps = product_steps().front();
    const std::vector<float> less(padded, -static_cast<float>(form_.stored_less));
    const std::vector<float> ones(padded, 1);
    std::vector<float> zeros(groups_count * padded);
    for (std::uint64_t group = 0; group < groups_count; ++group)
      steps.of_all(packed_zeros.data() + group * words.size(), order, {less.data(), ones.data()},
                   zeros.data() + group * padded, padded);

    const std::vector<std::byte> group_of_each = groups();
    const std::uint64_t size = stored_.dtype.size;
    for (std::uint64_t first = 0; first < inputs; first += panel_rows) {
      const std::uint64_t here = std::min(panel_rows, inputs - first);
      codes_ = is_gptq ? read_rows(stored_.codes, first / word_codes, ceil_div(here, word_codes),
                                   stored_.codes.shape[1] * word, {outputs.lo * word, outputs.hi * word})
                       : read_rows(stored_.codes, first, here, stored_.codes.shape[1] * word, words);
      panel_.resize(here * count * size);
      for (std::uint64_t i = 0; i < here; ++i) {
        const std::uint64_t group = group_of(group_of_each, first + i);
        const std::byte* const row = codes_.data() + (is_gptq ? i / word_codes * count * word : i * words.size());
        for (std::uint64_t k = 0; k < count; k += run_elements) {
          const auto values = std::span(values_).first(std::min(run_elements, count - k));
          const WordScales scales{zeros.data() + group * padded + k, scale.data() + group * count + k};
          if (is_gptq)
            steps.of_words(row + k * word, order[i % word_codes], scales, values.data(), values.size());
          else
            steps.of_all(row + k / word_codes * word, order, scales, values.data(), values.size());
          finish(values, {ones, values.size(), 0}, panel_.data() + (i * count + k) * size);
        }
      }
      turn(here, wanted.size(), count, inputs, panel_.data() + (wanted.lo - outputs.lo) * size,
           out.data() + first * size);
    }
  }

  const StoredWeight& stored_;
  const QuantisedWeight& form_;
  const ReadPart& read_part_;
  const WeightTables& tables_;
  std::optional<ShortNumbers> halves_;
  Products products_;
  std::vector<std::byte> codes_;
  alignas(64) std::array<float, run_elements> values_;
  std::vector<std::byte> panel_;
};

/// Rows of a matrix of the weight that is shown: outputs of GPTQ and AWQ, inputs of an expert of MXFP4.
std::uint64_t rows_of(const QuantisedWeight& weight) {
  return weight.shape[weight.shape.size() - 2];
}

std::uint64_t columns_of(const QuantisedWeight& weight) {
  return weight.shape[weight.shape.size() - 1];
}

/// The rows of one matrix that `left` begins with, if they are so many that they can be decoded alone.
std::optional<Interval> whole_rows(Interval left, std::uint64_t columns, std::uint64_t in_matrix, std::uint64_t most) {
  const std::uint64_t row = left.lo / columns % in_matrix;
  const std::uint64_t count = std::min({left.size() / columns, in_matrix - row, most});
  if (left.lo % columns != 0 || count == 0 || count < std::min(most, in_matrix - row) / 2) return std::nullopt;
  return Interval{row, row + count};
}

}  // namespace

std::optional<DecodedRows> decoded_rows(const QuantisedWeight& weight, const DType& dtype) {
  if (weight.form == Form::blocks || weight.form == Form::bitsandbytes) return std::nullopt;
  const std::uint64_t row_bytes = checked_mul(columns_of(weight), dtype.size, "a weight");
  if (row_bytes == 0 || rows_of(weight) == 0) return std::nullopt;
  const std::uint64_t step = weight.unit[weight.unit.size() - 2];
  DecodedRows part;
  part.rows = std::min(rows_of(weight), std::max<std::uint64_t>(1, decoded_bytes / row_bytes / step) * step);
  part.per_outer = ceil_div(rows_of(weight), part.rows);
  part.size.bytes = checked_mul(part.rows, row_bytes, "a weight");
  // A panel of rows before it is turned, its codes, and of GPTQ and AWQ all scales and zero points.
  const std::uint64_t groups =
      weight.form == Form::mxfp4 ? 0 : ceil_div(columns_of(weight), std::max<std::uint64_t>(1, weight.block[1]));
  const std::uint64_t each = checked_add(checked_mul(panel_rows, dtype.size + sizeof(float)), checked_mul(groups, 16));
  part.size.decoding = checked_add(part.size.bytes, checked_add(checked_mul(part.rows, each), stretch_bytes));
  return part;
}

DequantisedFile::DequantisedFile(std::size_t own, std::uint64_t file_key, std::shared_ptr<const View> view, Open open,
                                 DecodedChunks& chunks)
    : PartOfFile(open(own), view->places),
      own_(own),
      file_key_(file_key),
      view_(std::move(view)),
      others_(most_others, std::move(open)),
      chunks_(chunks) {
  for (const auto& weight : view_->weights) tables_.push_back(weight ? std::make_unique<Tables>() : nullptr);
}

void DequantisedFile::read_part(const StoredPart& part, std::uint64_t offset, std::span<std::byte> out) {
  if (part.file == own_) return whole().read(part.dataset, offset, out);
  others_.get(part.file)->read(part.dataset, offset, out);
}

void DequantisedFile::read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) {
  const StoredWeight* const stored = weight(dataset);
  if (stored == nullptr) return PartOfFile::read(dataset, offset, out);
  if (out.empty()) return;
  const std::uint64_t size = stored->dtype.size;
  const Interval elements{offset / size, (offset + out.size()) / size};
  if (offset % size != 0 || out.size() % size != 0 || elements.hi > numel(stored->form.shape))
    throw Error(Kind::input, "parameter '" + stored->form.name + "'",
                {"bytes " + std::to_string(offset) + " to " + std::to_string(offset + out.size()) + " are wanted",
                 "whole numbers of " + to_string(stored->form.shape), "this is a defect of the program"});
  const ReadPart read_part = [this](const StoredPart& part, std::uint64_t from, std::span<std::byte> to) {
    this->read_part(part, from, to);
  };
  Tables& tables = *tables_.at(dataset);
  const auto rows = decoded_rows(stored->form, stored->dtype);
  if (!rows) return Decoder(*stored, read_part, tables.are_read, tables.of).decode(elements, out);

  const std::uint64_t in_matrix = rows_of(stored->form);
  const std::uint64_t columns = columns_of(stored->form);
  for (Interval left = elements; !left.empty();) {
    const std::uint64_t row = left.lo / columns;
    const std::uint64_t outer = row / in_matrix;
    const std::uint64_t part = row % in_matrix / rows->rows;
    const Interval here{part * rows->rows, std::min(in_matrix, (part + 1) * rows->rows)};
    if (const auto whole = whole_rows(left, columns, in_matrix, rows->rows)) {
      const std::uint64_t count = whole->size() * columns;
      Decoder(*stored, read_part, tables.are_read, tables.of)
          .decode_rows(outer, *whole, out.subspan((left.lo - elements.lo) * size, count * size));
      left.lo += count;
      continue;
    }
    const std::uint64_t first = (outer * in_matrix + here.lo) * columns;
    const std::uint64_t end = std::min(left.hi, first + here.size() * columns);
    const DecodedChunks::Size bytes{here.size() * columns * size, rows->size.decoding};
    chunks_.with(
        {file_key_, 0, 0, dataset, outer * rows->per_outer + part}, bytes,
        [&](std::span<std::byte> decoded) {
          Decoder(*stored, read_part, tables.are_read, tables.of).decode_rows(outer, here, decoded);
        },
        [&](std::span<const std::byte> decoded) {
          std::memcpy(out.data() + (left.lo - elements.lo) * size, decoded.data() + (left.lo - first) * size,
                      (end - left.lo) * size);
        });
    left.lo = end;
  }
}

void DequantisedFile::read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) {
  weight(dataset) != nullptr ? read(dataset, offset, out) : PartOfFile::read_as_stored(dataset, offset, out);
}

void DequantisedFile::check(std::size_t dataset) {
  if (weight(dataset) == nullptr) PartOfFile::check(dataset);  // reading a weight checks all of its tensors
}

std::optional<StridedForm> DequantisedFile::strided(std::size_t dataset) const {
  return weight(dataset) != nullptr ? std::nullopt : PartOfFile::strided(dataset);
}

bool DequantisedFile::will_need(std::size_t dataset, Interval bytes) {
  return weight(dataset) != nullptr || PartOfFile::will_need(dataset, bytes);
}

std::optional<LocatedExtent> DequantisedFile::located(std::size_t dataset, std::uint64_t offset) const {
  return weight(dataset) != nullptr ? std::nullopt : PartOfFile::located(dataset, offset);
}

}  // namespace ckpt
