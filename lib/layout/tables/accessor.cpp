#include "layout/tables/accessor.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_dims = 1ULL << 20;  // far larger than any embedding; sizes do not overflow

constexpr std::array<std::pair<std::string_view, AccessorClass>, 4> accessor_names{
    {{"CtrCommonAccessor", AccessorClass::ctr_common},
     {"SparseAccessor", AccessorClass::sparse},
     {"CtrDoubleAccessor", AccessorClass::ctr_double},
     {"CtrDymfAccessor", AccessorClass::ctr_dymf}}};
constexpr std::array<std::pair<std::string_view, SgdRule>, 5> rule_names{
    {{"SparseNaiveSGDRule", SgdRule::naive},
     {"SparseAdaGradSGDRule", SgdRule::adagrad},
     {"StdAdaGradSGDRule", SgdRule::std_adagrad},
     {"SparseAdamSGDRule", SgdRule::adam},
     {"SparseSharedAdamSGDRule", SgdRule::shared_adam}}};

template <class Names>
auto value_named(const Names& names, std::string_view name, std::string_view what) {
  std::vector<std::string> known;
  for (const auto& [text, value] : names) {
    if (text == name) return value;
    known.emplace_back(text);
  }
  throw Error(Kind::layout, what,
              {"\"" + printable(name) + "\"", "one of " + join(known),
               "take the name that the table has in the trainer's configuration"});
}

template <class Names, class Value>
std::string_view name_among(const Names& names, Value value) {
  for (const auto& [text, known] : names)
    if (known == value) return text;
  return {};
}

void append_fields(std::vector<std::string>& fields, const std::string& name, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) fields.push_back(count == 1 ? name : name + "[" + std::to_string(i) + "]");
}

/// Appends the state of a rule for `dims` weights. `part` is "embed" or "embedx".
void append_state(std::vector<std::string>& fields, const std::string& part, SgdRule rule, std::uint64_t dims) {
  switch (rule) {
    case SgdRule::naive:
      return;
    case SgdRule::adagrad:
      return append_fields(fields, part + "_g2sum", 1);
    case SgdRule::std_adagrad:
      return append_fields(fields, part + "_g2sum", dims);
    case SgdRule::adam:
    case SgdRule::shared_adam:
      const auto moments = rule == SgdRule::adam ? dims : 1;
      append_fields(fields, part + "_m", moments);
      append_fields(fields, part + "_v", moments);
      fields.insert(fields.end(), {part + "_beta1_pow", part + "_beta2_pow"});
  }
}

std::uint64_t state_size(SgdRule rule, std::uint64_t dims) noexcept {
  switch (rule) {
    case SgdRule::naive:
      return 0;
    case SgdRule::adagrad:
      return 1;
    case SgdRule::std_adagrad:
      return dims;
    case SgdRule::adam:
      return 2 * dims + 2;
    case SgdRule::shared_adam:
      return 4;
  }
  return 0;
}

/// A CtrDoubleAccessor stores one number of state, whatever the rule.
void check_rules(const Accessor& accessor) {
  if (accessor.kind != AccessorClass::ctr_double) return;
  for (const SgdRule rule : {accessor.embed_rule, accessor.embedx_rule})
    if (rule != SgdRule::adagrad)
      throw Error(
          Kind::layout, "accessor CtrDoubleAccessor",
          {"rule " + std::string(name_of(rule)), "SparseAdaGradSGDRule: its rows have room for the state of no other",
           "take the class and the rules that the table has in the trainer's configuration"});
}

void check_dims(std::uint64_t dims) {
  if (dims == 0 || dims > most_dims)
    throw Error(Kind::layout, "accessor",
                {"embedx_dim " + std::to_string(dims), "1 to " + std::to_string(most_dims),
                 "take embedx_dim from the trainer's configuration"});
}

}  // namespace

AccessorClass accessor_class(std::string_view name) {
  return value_named(accessor_names, name, "accessor: class");
}
SgdRule sgd_rule(std::string_view name) {
  return value_named(rule_names, name, "accessor: rule");
}
std::string_view name_of(AccessorClass kind) {
  return name_among(accessor_names, kind);
}
std::string_view name_of(SgdRule rule) {
  return name_among(rule_names, rule);
}

RowFields::RowFields(const Accessor& accessor) : accessor_(accessor) {
  check_rules(accessor);
  check_dims(accessor.embedx_dim);
  const bool slot_first = accessor.kind == AccessorClass::ctr_common || accessor.kind == AccessorClass::sparse;
  if (slot_first) always_.emplace_back("slot");
  always_.insert(always_.end(), {"unseen_days", "delta_score", "show", "click", "embed_w"});
  append_state(always_, "embed", accessor.embed_rule, 1);
  if (!slot_first) always_.emplace_back("slot");
  if (rows_have_dims()) always_.emplace_back("mf_dim");
}

std::vector<std::string> RowFields::tail(std::uint64_t embedx_dim) const {
  const bool weights_first = accessor_.kind == AccessorClass::ctr_common || accessor_.kind == AccessorClass::sparse;
  std::vector<std::string> fields;
  if (weights_first) append_fields(fields, "embedx_w", embedx_dim);
  append_state(fields, "embedx", accessor_.embedx_rule, embedx_dim);
  if (!weights_first) append_fields(fields, "embedx_w", embedx_dim);
  return fields;
}

std::uint64_t RowFields::tail_size(std::uint64_t embedx_dim) const noexcept {
  return embedx_dim + state_size(accessor_.embedx_rule, embedx_dim);
}

}  // namespace ckpt
