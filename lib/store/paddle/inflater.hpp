#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace ckpt {

/// Inflates a gzip file that comes piece by piece; such files that follow one another are one text, as for zcat.
class Inflater {
 public:
  static constexpr std::uint64_t memory_bytes = 48ULL << 10;  ///< that one takes, beside its text

  explicit Inflater(std::size_t text_bytes);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;

  /// The next text, valid until the next call, and takes what it has used of `input` away from it; empty: there is none
  /// without more input. Throws input for what is no gzip.
  std::string_view next(std::string_view& input);
  /// Throws input where the file ends here within its compressed text.
  void finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt
