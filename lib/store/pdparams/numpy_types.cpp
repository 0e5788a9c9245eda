#include "store/pdparams/numpy_types.hpp"

#include <array>
#include <charconv>

#include "store/torch/element_types.hpp"

namespace ckpt::pdparams {

namespace {

struct Word {
  std::string_view numpy;
  std::string_view torch;
};

/// Without the byte order.
constexpr std::array words{Word{"f4", "torch.float32"},   Word{"u2", "torch.bfloat16"},   Word{"f2", "torch.float16"},
                           Word{"f8", "torch.float64"},   Word{"i1", "torch.int8"},       Word{"i2", "torch.int16"},
                           Word{"i4", "torch.int32"},     Word{"i8", "torch.int64"},      Word{"u1", "torch.uint8"},
                           Word{"u4", "torch.uint32"},    Word{"u8", "torch.uint64"},     Word{"b1", "torch.bool"},
                           Word{"c8", "torch.complex64"}, Word{"c16", "torch.complex128"}};

}  // namespace

NumpyType numpy_type(const std::string& name, bool is_of_paddle) {
  const char order = name.empty() ? '\0' : name.front();
  const std::string_view kind = std::string_view(name).substr(name.empty() ? 0 : 1);
  const bool is_little = order == '<' || order == '|' || order == '=';
  for (const Word& word : words)
    if (is_little && word.numpy == kind && (is_of_paddle || kind != "u2")) {
      const auto dtype = torch::element_type(word.torch);
      return {std::string(word.torch), dtype->size, dtype};
    }
  std::uint64_t bytes = 0;
  if (kind.size() > 1) std::from_chars(kind.data() + 1, kind.data() + kind.size(), bytes);
  if (kind.starts_with("U")) bytes *= 4;
  if (!is_of_paddle && is_little && kind == "u2") return {"torch.uint16", 2, torch::element_type("torch.uint16")};
  return {"numpy." + name, bytes, std::nullopt};
}

std::string_view numpy_name(const DType& dtype) {
  const auto type = torch::torch_type(dtype);
  if (!type) return {};
  for (const Word& word : words)
    if (word.torch.substr(word.torch.find('.') + 1) == type->name) return word.numpy;
  return {};
}

}  // namespace ckpt::pdparams
