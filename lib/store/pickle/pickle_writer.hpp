#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/pickle/pickle.hpp"
#include "tensor/shape.hpp"

namespace ckpt::torch {

/// Writes a pickle, opcode by opcode.
class PickleWriter {
 public:
  explicit PickleWriter(unsigned protocol);

  void opcode(std::same_as<unsigned char> auto... codes) { ((bytes_ += static_cast<char>(codes)), ...); }
  void boolean(bool value) { opcode(value ? op::newtrue : op::newfalse); }
  void integer(std::int64_t number);
  void large_integer(std::string_view in_twos_complement);
  void real(double number);
  void text(std::string_view utf8) { sized(op::binunicode, utf8); }
  /// Writes a text or bytes with the given opcode, one of several that exist.
  void sized(unsigned char code, std::string_view bytes);
  /// Writes bytes, without themselves: whoever uses the pickle puts them after what has been written so far.
  void room_for_bytes(std::uint64_t count);
  std::size_t size() const noexcept { return bytes_.size(); }
  /// Writes a function or class; like a word, it is written once and recalled afterwards. Throws input for names that
  /// span lines.
  void global(std::string_view module, std::string_view name);
  void word(std::string_view utf8);
  /// Writes a tuple of numbers.
  void numbers(const Shape& values);

  /// `remember` numbers the value that was written last; `recall` writes that value again.
  std::uint32_t remember();
  void recall(std::uint32_t number);

  /// Ends the pickle and returns it.
  std::string take();

 private:
  void little(std::uint64_t number, std::size_t bytes);

  std::string bytes_;
  std::uint32_t remembered_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> words_;  // by word, or by a global's module and name, joined by a
                                                             // newline
};

/// Writes a whole pickle, as a value, into another. Throws input if it is not a pickle.
void write_copy(std::string_view pickle, PickleWriter& to);

/// Copies parts of a pickle into another unchanged: shared values stay shared, and nothing in it is interpreted.
class PickleCopy {
 public:
  /// `is_written` writes a node itself and returns true, or leaves the node to the copy. All three must outlive it.
  PickleCopy(const Pickle& from, PickleWriter& to, std::function<bool(PickleId)> is_written);

  /// Throws input for values that are nested too deeply to be read again.
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
  std::vector<std::uint32_t> numbers_;  // by node: its number for `recall`, plus 1
  int level_ = 0;
};

}  // namespace ckpt::torch
