#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// Paddle's classes of rows of a sparse table. They differ in the fields of a row and in their order.
enum class AccessorClass { ctr_common, sparse, ctr_double, ctr_dymf };
/// The optimizers that keep their state in the row.
enum class SgdRule { naive, adagrad, std_adagrad, adam, shared_adam };

/// What `accessor` of a table says: nothing in Paddle's files does. Names are Paddle's own.
struct Accessor {
  AccessorClass kind = AccessorClass::sparse;
  std::uint64_t embedx_dim = 0;  ///< ctr_dymf: the largest; each row says its own
  SgdRule embed_rule = SgdRule::naive;
  SgdRule embedx_rule = SgdRule::naive;
};

/// "SparseAccessor" and "SparseAdaGradSGDRule". Throw layout, listing the names there are.
AccessorClass accessor_class(std::string_view name);
SgdRule sgd_rule(std::string_view name);
std::string_view name_of(AccessorClass kind);
std::string_view name_of(SgdRule rule);

/// The fields of a table's lines, after the key. A row whose score is below the trainer's threshold ends before its
/// tail, so that lines of one file have two lengths, or with ctr_dymf one for each dimension that occurs.
class RowFields {
 public:
  /// Throws layout where the class has no room for the state of these rules, or no dimension for its tail.
  explicit RowFields(const Accessor& accessor);

  /// Those that every row has: "slot", "show", "embed_g2sum"; several numbers of one field are "embedx_w[0]" and so on.
  const std::vector<std::string>& always() const noexcept { return always_; }
  /// Those of the tail of a row with so many dimensions.
  std::vector<std::string> tail(std::uint64_t embedx_dim) const;
  std::uint64_t tail_size(std::uint64_t embedx_dim) const noexcept;
  /// The largest number of dimensions.
  std::uint64_t embedx_dim() const noexcept { return accessor_.embedx_dim; }
  /// Whether a row says in `mf_dim`, the last field that all rows have, how many dimensions it has.
  bool rows_have_dims() const noexcept { return accessor_.kind == AccessorClass::ctr_dymf; }

 private:
  Accessor accessor_;
  std::vector<std::string> always_;
};

}  // namespace ckpt
