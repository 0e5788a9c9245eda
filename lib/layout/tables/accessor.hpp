#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// Paddle's classes of rows of a sparse table. They differ in the fields of a row and in their order.
enum class AccessorClass { ctr_common, sparse, ctr_double, ctr_dymf };
/// The optimizers that store their state in the row.
enum class SgdRule { naive, adagrad, std_adagrad, adam, shared_adam };

/// A table's `accessor`, with Paddle's own names; Paddle's files do not contain it.
struct Accessor {
  AccessorClass kind = AccessorClass::sparse;
  std::uint64_t embedx_dim = 0;  ///< ctr_dymf: the largest; each row contains its own
  SgdRule embed_rule = SgdRule::naive;
  SgdRule embedx_rule = SgdRule::naive;

  friend bool operator==(const Accessor&, const Accessor&) = default;
};

/// Parse "SparseAccessor" and "SparseAdaGradSGDRule". They throw layout, listing the valid names.
AccessorClass accessor_class(std::string_view name);
SgdRule sgd_rule(std::string_view name);
std::string_view name_of(AccessorClass kind);
std::string_view name_of(SgdRule rule);

/// The fields of a table's lines, after the key. A row whose score is below the trainer's threshold lacks its tail, so
/// that lines of one file have two lengths, or with ctr_dymf one for each dimension that occurs.
class RowFields {
 public:
  /// Throws layout if the class has no room for the state of these rules, or no dimension for its tail.
  explicit RowFields(const Accessor& accessor);

  /// Returns the fields that every row has: "slot", "show", "embed_g2sum"; several numbers of one field are
  /// "embedx_w[0]" and so on.
  const std::vector<std::string>& always() const noexcept { return always_; }
  /// Returns the fields in the tail of a row of this dimension.
  std::vector<std::string> tail(std::uint64_t embedx_dim) const;
  std::uint64_t tail_size(std::uint64_t embedx_dim) const noexcept;
  /// Returns the largest dimension.
  std::uint64_t embedx_dim() const noexcept { return accessor_.embedx_dim; }
  /// Returns whether a row contains its dimension in `mf_dim`, the last field that all rows have.
  bool rows_have_dims() const noexcept { return accessor_.kind == AccessorClass::ctr_dymf; }

 private:
  Accessor accessor_;
  std::vector<std::string> always_;
};

}  // namespace ckpt
