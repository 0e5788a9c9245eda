#include "jobs/casts.hpp"

#include <optional>

#include "base/log.hpp"
#include "base/text.hpp"
#include "processes/gather_all.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_overflow_warnings = 8;

/// The last rule that matches.
std::optional<std::size_t> last_of(const PatternIndex& index, const std::string& name, std::vector<bool>& is_used) {
  std::optional<std::size_t> last;
  for (auto found = index.first(name); found; found = index.first(name, *found + 1)) {
    is_used[*found] = true;
    last = found;
  }
  return last;
}

}  // namespace

std::vector<std::string> cast(const std::vector<CastRule>& rules, const Placement& source, Selection& selection) {
  std::vector<const Pattern*> patterns;
  for (const CastRule& rule : rules) patterns.push_back(&rule.names);
  const PatternIndex index(std::move(patterns));
  std::vector<bool> is_used(rules.size(), false);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < selection.tensors.size() && !rules.empty(); ++i) {
    Tensor& tensor = selection.tensors[i];
    if (tensor.verbatim || !tensor.dtype.is_float() || !number_format(tensor.dtype)) continue;
    names.push_back(source.tensors()[selection.source_of[i]].name);
    if (const auto rule = last_of(index, names.back(), is_used)) tensor.dtype = rules[*rule].dtype;
  }
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (is_used[i]) continue;
    const std::string& pattern = rules[i].names.text();
    warnings.push_back("nothing is cast to " + rules[i].dtype.name + ": no floating-point parameter matches '" +
                       pattern + "'" +
                       (names.empty() ? "" : "; the nearest names are " + join(nearest(pattern, names))));
  }
  return warnings;
}

std::uint64_t count_cast(const Selection& selection, const Placement& source) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < selection.tensors.size(); ++i)
    if (selection.tensors[i].dtype.name != source.tensors()[selection.source_of[i]].dtype.name) ++count;
  return count;
}

std::vector<Overflow> tell_overflows(const std::map<ParameterId, std::uint64_t>& mine, const Placement& target,
                                     bool is_resumed, Communicator& processes) {
  std::map<ParameterId, std::uint64_t> all;
  for (const auto& each : gather_all(mine, processes))
    for (const auto& [parameter, elements] : each) all[parameter] += elements;
  std::vector<Overflow> overflows;
  for (const auto& [parameter, elements] : all) {
    const Tensor& tensor = target.tensors()[parameter];
    overflows.push_back({tensor.name, tensor.dtype.name, elements});
    if (overflows.size() > most_overflow_warnings) continue;
    spdlog::warn("parameter '{}': {} of {} elements {} too large for {}: infinite now{}", tensor.name, elements,
                 volume(tensor.shape), elements == 1 ? "is" : "are", tensor.dtype.name,
                 is_resumed ? ", not counting what an earlier run wrote" : "");
  }
  if (overflows.size() > most_overflow_warnings)
    spdlog::warn("so have {} more parameters elements that are too large", overflows.size() - most_overflow_warnings);
  return overflows;
}

}  // namespace ckpt
