#include "layout/placement/bias_shapes.hpp"

#include <optional>

#include "layout/names/name_groups.hpp"
#include "layout/placement/explain_logical_shape.hpp"

namespace ckpt {

namespace {

constexpr std::string_view bias_word = "bias";

/// Returns the matrix that a bias of this name belongs to.
std::optional<ParameterId> matrix_of(const Placement& placement, const std::string& bias) {
  if (bias.size() < bias_word.size() + 2 || !bias.ends_with(bias_word)) return std::nullopt;
  const std::string before = bias.substr(0, bias.size() - bias_word.size());
  if (before.back() != '.' && before.back() != '/') return std::nullopt;
  const auto weight = placement.find(before + "weight");
  return weight ? weight : placement.find(before + "kernel");
}

bool is_float(const DType& dtype) {
  return dtype.kind == ElementKind::ieee_float || dtype.kind == ElementKind::bfloat;
}

bool is_suspect(const Placement& placement, ParameterId matrix, ParameterId bias) {
  const Tensor& a = placement.tensors()[matrix];
  const Tensor& b = placement.tensors()[bias];
  if (a.shape.size() != 2 || b.shape.size() != 1 || a.verbatim || b.verbatim) return false;
  if (!is_float(a.dtype) || a.shape[0] == b.shape[0] || a.shape[1] == b.shape[0]) return false;
  const auto of_matrix = local_shape_of(placement, matrix);
  const auto of_bias = local_shape_of(placement, bias);
  if (!of_matrix || !of_bias) return false;
  for (std::size_t d = 0; d < 2; ++d)
    if ((*of_matrix)[d] == b.shape[0] || (*of_bias)[0] == a.shape[d]) return true;
  return false;
}

/// Returns "; if the bias is right, 'o.weight' is [8, 8]: dim 1 over tp=2 would fit", or an empty text if nothing would
/// fit.
std::string hypothesis(const Placement& placement, ParameterId wrong, const Shape& fitting, const std::string& right) {
  const std::string fit = explain_logical_shape(placement, wrong, fitting);
  if (fit.empty()) return "";
  return "; if the " + right + " is right, '" + placement.tensors()[wrong].name + "' is " + to_string(fitting) + ": " +
         fit;
}

std::string describe(const Placement& placement, const NameGroup& group) {
  const std::string& name = group.names.front();
  const ParameterId matrix = *matrix_of(placement, name);
  const Tensor& weight = placement.tensors()[matrix];
  const Tensor& bias = placement.tensors()[*placement.find(name)];
  const std::string more = group.names.size() == 1 ? ""
                                                   : " (and so for " + std::to_string(group.names.size() - 1) +
                                                         " more of " + group.pattern + ")";
  std::string text = placement.layout().origin + ": '" + weight.name + "' has the logical shape " +
                     to_string(weight.shape) + ", and '" + name + "' " + to_string(bias.shape) + more +
                     ": one of the two is cut wrong";
  const bool is_rows_first = weight.name.ends_with("weight");
  const std::uint64_t length = bias.shape[0];
  const std::uint64_t elements = numel(weight.shape);
  if (length != 0 && elements % length == 0) {
    const Shape fitting = is_rows_first ? Shape{length, elements / length} : Shape{elements / length, length};
    text += hypothesis(placement, matrix, fitting, "bias");
  }
  const Shape fitting{weight.shape[is_rows_first ? 0 : 1]};
  return text + hypothesis(placement, *placement.find(name), fitting, "matrix");
}

}  // namespace

std::vector<std::string> bias_shape_warnings(const Placement& placement) {
  std::vector<std::string> names;
  for (ParameterId bias = 0; bias < placement.tensors().size(); ++bias)
    if (const auto matrix = matrix_of(placement, placement.tensors()[bias].name);
        matrix && is_suspect(placement, *matrix, bias))
      names.push_back(placement.tensors()[bias].name);
  std::vector<std::string> warnings;
  for (const NameGroup& group : group_names(names)) warnings.push_back(describe(placement, group));
  return warnings;
}

}  // namespace ckpt
