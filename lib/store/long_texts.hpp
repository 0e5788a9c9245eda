#pragma once

#include <cstdint>
#include <filesystem>

#include "tensor/dtype.hpp"
#include "tensor/fingerprint.hpp"
#include "tensor/shape.hpp"

namespace ckpt {

/// Texts of a dataset of at least this many bytes (as Value has them) stay in their file, if its format can read them
/// one after another. The limit depends on nothing else: outputs must not depend on the memory of a job.
inline constexpr std::uint64_t least_long_texts = 1U << 20;

/// The texts of a dataset that are too many for a catalog. They go from their file to a new one, one after another.
struct LongTexts {
  DType dtype;
  Shape shape;
  std::uint64_t bytes = 0;         ///< as many as Value::bytes would have
  PartialSum sum;                  ///< of those
  std::uint64_t stored_bytes = 0;  ///< what they take in a new file besides the references to them
  std::uint64_t references = 0;    ///< where these lie in the file
  std::uint64_t user_block = 0;    ///< what addresses in the file count from
  std::uint8_t address_bytes = 8;
  std::uint8_t length_bytes = 8;

  bool is_consistent() const noexcept { return address_bytes <= 8 && length_bytes <= 8; }
  friend bool operator==(const LongTexts&, const LongTexts&) = default;
};

/// Long texts, and the file that has them.
struct TextsOfFile {
  LongTexts texts;
  std::filesystem::path file;

  friend bool operator==(const TextsOfFile&, const TextsOfFile&) = default;
};

}  // namespace ckpt
