#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/torch/pickle.hpp"
#include "tensor/extents.hpp"

namespace ckpt::torch {

/// Opcode by opcode, the pickle of something.
class PickleWriter {
 public:
  /// The opcode before what a tuple, or items of a container, are collected from.
  static constexpr unsigned char mark = '(';

  explicit PickleWriter(unsigned protocol);

  void opcode(unsigned char code) { bytes_ += static_cast<char>(code); }
  void boolean(bool value) { opcode(value ? 0x88 : 0x89); }
  void integer(std::int64_t number);
  void large_integer(std::string_view in_twos_complement);
  void real(double number);
  void text(std::string_view utf8) { sized('X', utf8); }
  /// With the opcode of one of the forms that texts and bytes have.
  void sized(unsigned char code, std::string_view bytes);
  /// A function or class; written once, and recalled from then on, as a word is. Throws input for names of two lines.
  void global(std::string_view module, std::string_view name);
  void word(std::string_view utf8);
  /// A tuple of numbers.
  void numbers(const Extents& values);

  /// Gives what was written last a number, and takes it from there again.
  std::uint32_t remember();
  void recall(std::uint32_t number);

  /// Ends it.
  std::string take();

 private:
  void little(std::uint64_t number, std::size_t bytes);

  std::string bytes_;
  std::uint32_t remembered_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> words_;  // a global's with a line's end in it
};

/// Writes a whole pickle, as a value, into another. Throws input for what is none.
void write_copy(std::string_view pickle, PickleWriter& to);

/// Writes parts of a pickle into another as they are: what was shared stays so, and nothing in it is understood.
class PickleCopy {
 public:
  /// `is_written`: writes a node itself, or leaves it to the copy. All three must outlive it.
  PickleCopy(const Pickle& from, PickleWriter& to, std::function<bool(PickleId)> is_written);

  /// Throws input for values that are in one another too often to be read again.
  void node(PickleId id);
  void nodes(const std::vector<PickleId>& ids) {
    for (const PickleId id : ids) node(id);
  }

 private:
  void plain(const PickleNode& node);
  void container(PickleId id);
  void call(PickleId id);
  void items(const PickleNode& node, unsigned char in_pairs, unsigned char one_by_one);
  void remember(PickleId id);

  const Pickle& from_;
  PickleWriter& to_;
  std::function<bool(PickleId)> is_written_;
  std::vector<std::uint32_t> uses_;     // by node
  std::vector<std::uint32_t> numbers_;  // likewise: what it is recalled by, plus 1
  int level_ = 0;
};

}  // namespace ckpt::torch
