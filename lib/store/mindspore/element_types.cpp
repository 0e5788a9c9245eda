#include "store/mindspore/element_types.hpp"

#include <array>

namespace ckpt::mindspore {

namespace {

struct Word {
  std::string_view word;
  std::string_view type;
};

constexpr std::array number_words{
    Word{"Bool", "bool"},         Word{"Int8", "i8"},       Word{"Int16", "i16"},       Word{"Int32", "i32"},
    Word{"Int64", "i64"},         Word{"UInt8", "u8"},      Word{"UInt16", "u16"},      Word{"UInt32", "u32"},
    Word{"UInt64", "u64"},        Word{"Float16", "f16"},   Word{"Float32", "f32"},     Word{"Float64", "f64"},
    Word{"BFloat16", "bf16"},     Word{"Complex64", "c64"}, Word{"Complex128", "c128"}, Word{"Float8E4M3FN", "f8_e4m3"},
    Word{"Float8E5M2", "f8_e5m2"}};

/// As MindSpore 1.x spelt them.
constexpr std::array old_words{Word{"Uint8", "u8"}, Word{"Uint16", "u16"}, Word{"Uint32", "u32"},
                               Word{"Uint64", "u64"}};

/// Two numbers of four bits in a byte, a float without a type here, a generator's state.
constexpr std::array opaque_words{Word{"Int4", "int4x2"}, Word{"HiFloat8", "hif8"}, Word{random_word, random_word}};

template <std::size_t N>
std::string_view known(const std::array<Word, N>& words, std::string_view word) {
  for (const Word& each : words)
    if (each.word == word) return each.type;
  return {};
}

}  // namespace

DType opaque_type(std::string_view name) {
  return {ElementKind::other, ByteOrder::little, 1, std::string(name), ""};
}

std::optional<DType> element_type(std::string_view word) {
  if (const auto opaque = known(opaque_words, word); !opaque.empty()) return opaque_type(opaque);
  const auto type = known(number_words, word);
  return number_type(type.empty() ? known(old_words, word) : type);
}

std::string_view type_word(const DType& dtype) {
  DType plain = dtype;
  plain.native.clear();  // whatever form another format gave it: the bytes are the same
  for (const Word& each : number_words)
    if (plain == *number_type(each.type)) return each.word;
  for (const Word& each : opaque_words)
    if (plain == opaque_type(each.type)) return each.word;
  return {};
}

}  // namespace ckpt::mindspore
