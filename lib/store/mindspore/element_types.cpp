#include "store/mindspore/element_types.hpp"

#include "store/element_words.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::mindspore {

namespace {

constexpr ElementWord rows[] = {
    {"Bool", "bool"},           {"Int8", "i8"},       {"Int16", "i16"},       {"Int32", "i32"},
    {"Int64", "i64"},           {"UInt8", "u8"},      {"UInt16", "u16"},      {"UInt32", "u32"},
    {"UInt64", "u64"},          {"Float16", "f16"},   {"Float32", "f32"},     {"Float64", "f64"},
    {"BFloat16", "bf16"},       {"Complex64", "c64"}, {"Complex128", "c128"}, {"Float8E4M3FN", "f8_e4m3"},
    {"Float8E5M2", "f8_e5m2"},  {"Int4", "int4x2"},  // two 4-bit numbers
    {"HiFloat8", "hif8"},                            // a float that no other format has
    {random_word, random_word}, {"Uint8", "u8"},     // the last four: spellings of MindSpore 1.x
    {"Uint16", "u16"},          {"Uint32", "u32"},    {"Uint64", "u64"},
};
static_assert(decides_each_type(rows, {"c32", "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0", "f4_e2m1x2"}));

const ElementWords& words() {
  static const ElementWords all(rows);
  return all;
}

}  // namespace

std::optional<DType> element_type(std::string_view word) {
  return words().type(word);
}

std::string_view type_word(const DType& dtype) {
  return words().word(dtype);
}

}  // namespace ckpt::mindspore
