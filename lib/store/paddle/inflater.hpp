#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace ckpt {

/// Inflates a gzip file that arrives piece by piece; concatenated gzip files are one text, as for zcat.
class Inflater {
 public:
  static constexpr std::uint64_t memory_bytes = 48ULL << 10;  ///< memory that an Inflater takes, besides the text

  explicit Inflater(std::size_t text_bytes);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;

  /// Returns the next text, valid until the next call, and removes the consumed bytes from `input`. Empty: it needs
  /// more input. Throws input for data that is not gzip.
  std::string_view next(std::string_view& input);
  /// Throws input if the file ends here, within its compressed text.
  void finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt
