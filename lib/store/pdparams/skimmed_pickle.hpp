#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "io/posix_file.hpp"
#include "store/pickle/pickle.hpp"
#include "tensor/box.hpp"

namespace ckpt::pdparams {

/// A pickle in a file, read without the long bytes and texts in it: arrays' elements lie within such pickles. Where one
/// was left out, the pickle has an empty text.
class SkimmedPickle {
 public:
  /// Throws input if the file does not hold exactly one pickle.
  static SkimmedPickle read(const PosixFile& file, std::uint64_t file_bytes);

  torch::Pickle& pickle() noexcept { return pickle_; }
  torch::Pickle take() { return std::move(pickle_); }
  /// The texts of the pickle point into these bytes.
  std::unique_ptr<const std::string> take_bytes() { return std::move(bytes_); }

  /// Returns where the file has the bytes of a node's text. The text must be one of the pickle, not a kept one.
  Interval place_of(std::string_view text) const;
  bool is_left_out(std::string_view text) const;

  /// Reads the texts that were left out into the pickle, except those of `others`. Throws input if they are too long.
  void complete(const PosixFile& file, const std::set<torch::PickleId>& others);

 private:
  std::uint64_t position_of(std::string_view text) const;

  std::unique_ptr<const std::string> bytes_;
  torch::Pickle pickle_;
  std::map<std::uint64_t, std::uint64_t> moved_;  // by the position in bytes_ from which on it holds: the offset there
  std::map<std::uint64_t, Interval> left_out_;    // by position in bytes_
};

}  // namespace ckpt::pdparams
