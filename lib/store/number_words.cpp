#include "store/number_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "store/element_words.hpp"
#include "tensor/known_types.hpp"

namespace ckpt {

namespace {

/// Besides our own. float8_e4m3 is not among them: in ml_dtypes it has infinities, elsewhere it does not.
const ElementWords& known_words() {
  static constexpr ElementWord rows[] = {{"bfloat16", "bf16"},
                                         {"float16", "f16"},
                                         {"half", "f16"},
                                         {"fp16", "f16"},
                                         {"float32", "f32"},
                                         {"float", "f32"},
                                         {"fp32", "f32"},
                                         {"float64", "f64"},
                                         {"double", "f64"},
                                         {"fp64", "f64"},
                                         {"float8_e4m3fn", "f8_e4m3"},
                                         {"f8_e4m3fn", "f8_e4m3"},
                                         {"fp8_e4m3fn", "f8_e4m3"},
                                         {"fp8_e4m3", "f8_e4m3"},
                                         {"f8e4m3fn", "f8_e4m3"},
                                         {"float8_e5m2", "f8_e5m2"},
                                         {"fp8_e5m2", "f8_e5m2"},
                                         {"f8e5m2", "f8_e5m2"},
                                         {"float8_e4m3fnuz", "f8_e4m3fnuz"},
                                         {"float8_e5m2fnuz", "f8_e5m2fnuz"},
                                         {"float8_e8m0fnu", "f8_e8m0"},
                                         {"float4_e2m1fn_x2", "f4_e2m1x2"},
                                         {"int8", "i8"},
                                         {"int16", "i16"},
                                         {"int32", "i32"},
                                         {"int64", "i64"},
                                         {"uint8", "u8"},
                                         {"uint16", "u16"},
                                         {"uint32", "u32"},
                                         {"uint64", "u64"},
                                         {"complex64", "c64"},
                                         {"complex128", "c128"}};
  static const ElementWords all(rows);
  return all;
}

/// Returns the word in lower case, without what surrounds it: "<class 'ml_dtypes.bfloat16'>", "dtype('bfloat16')",
/// "DT_BFLOAT16".
std::string bare(std::string_view word) {
  if (const std::size_t open = word.find('\''); open != std::string_view::npos) {
    word.remove_prefix(open + 1);
    word = word.substr(0, word.find('\''));
  }
  if (const std::size_t dot = word.rfind('.'); dot != std::string_view::npos) word.remove_prefix(dot + 1);
  std::string text;
  for (const char c : word)
    if (c != ' ' && c != '\0') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text.starts_with("dt_") ? text.substr(3) : text;
}

}  // namespace

std::optional<DType> type_by_word(std::string_view word) {
  const std::string text = bare(word);
  if (auto known = known_words().type(text)) return known;
  if (std::ranges::find(moved_types, text, &MovedType::name) != moved_types.end()) return opaque_type(text);
  return number_type(text);
}

bool seems_float(std::string_view word, std::uint64_t bytes) {
  constexpr std::size_t most_characters = 40;  // anything longer is a sentence
  constexpr std::array<std::string_view, 8> parts{"float", "brain", "bf", "fp", "half", "e4m3", "e5m2", "tf32"};
  const std::string text = bare(word);
  if (text.size() > most_characters) return false;
  if (const auto known = type_by_word(text)) return known->is_float() && known->size == bytes;
  if (std::none_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.find(part) != text.npos; }))
    return false;
  for (const std::string_view of_8_bits : {"e4m3", "e5m2"})
    if (text.find(of_8_bits) != text.npos) return bytes == 1;
  const std::size_t digits = text.find_first_of("0123456789");
  if (digits == text.npos) return bytes == 2 && (text.find("bfloat") != text.npos || text.find("brain") != text.npos);
  const std::size_t end = text.find_first_not_of("0123456789", digits);
  return text.substr(digits, end - digits) == std::to_string(8 * bytes);
}

}  // namespace ckpt
