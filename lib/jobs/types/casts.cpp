#include "jobs/types/casts.hpp"

#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/averaged_files.hpp"
#include "checkpoint/dequantised_files.hpp"
#include "layout/names/better_pattern.hpp"
#include "layout/placement/number_ties.hpp"
#include "processes/gather_all.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_overflow_warnings = 8;

/// The last rule that matches a name, or nothing.
std::optional<std::size_t> last_of(const PatternIndex& index, const std::string& name, std::vector<bool>& is_used) {
  std::optional<std::size_t> last;
  for (auto found = index.first(name); found; found = index.first(name, *found + 1)) {
    is_used[*found] = true;
    last = found;
  }
  return last;
}

bool is_of_all(const CastRule& rule) {
  return rule.names.text() == "*";
}

[[noreturn]] void refuse_tied(const CastRule& rule, const Tensor& tensor, const NumberTie& tie) {
  const std::string option = rule.dtype.name + ":" + rule.names.text();
  std::string found =
      "its " + tensor.dtype.name + " codes mean something only with their scale, and a cast would change that";
  if (tie.role != NumberTie::Role::codes)
    found = std::string("it is ") + (tie.role == NumberTie::Role::scale ? "a scale of" : "a table for") +
            " quantised numbers" + (tie.codes.empty() ? "" : ", those of '" + tie.codes + "'") +
            ", and a cast would change what both mean";
  throw Error(Kind::usage, "--cast '" + option + "': parameter '" + tensor.name + "'",
              {found, "names of other parameters",
               "write --cast '" + rule.dtype.name + "!:" + rule.names.text() +
                   "' to have its numbers cast all the same, or --cast " + rule.dtype.name +
                   " without names, which leaves such parameters as they are"});
}

[[noreturn]] void refuse_uncastable(const CastRule& rule, const Tensor& tensor) {
  throw Error(Kind::usage,
              "--cast '" + rule.dtype.name + "!:" + rule.names.text() + "': parameter '" + tensor.name + "'",
              {"elements of " + tensor.dtype.name + ", which these programs move and do not interpret",
               "floats of other types", "choose names without it"});
}

/// Tensors that rules for all names left unchanged, by reason.
class UncastTensors {
 public:
  void add(const std::string& name, const NumberTie& tie) {
    (tie.role == NumberTie::Role::codes ? codes_ : scales_).push_back(name);
  }

  void report_to(std::vector<std::string>& warnings) const {
    if (codes_.empty() && scales_.empty()) return;
    std::string text = "--cast leaves as they are, for their numbers mean something only together: ";
    if (!codes_.empty()) text += "floats of 8 bits and less " + join(codes_);
    if (!codes_.empty() && !scales_.empty()) text += "; ";
    if (!scales_.empty()) text += "scales, zero points and tables of quantised numbers " + join(scales_);
    warnings.push_back(text + "; to cast one all the same, say so twice: --cast 'DTYPE!:NAME'");
  }

 private:
  std::vector<std::string> codes_;
  std::vector<std::string> scales_;
};

bool is_castable(const Tensor& tensor) {
  return !tensor.verbatim && tensor.dtype.is_float() && number_format(tensor.dtype);
}

}  // namespace

std::vector<std::string> cast(const std::vector<CastRule>& rules, const Placement& source, Selection& selection,
                              const std::vector<Tensor>& left_out) {
  std::vector<const Pattern*> patterns;
  for (const CastRule& rule : rules) patterns.push_back(&rule.names);
  const PatternIndex index(std::move(patterns));
  std::vector<bool> is_used(rules.size(), false);
  std::vector<std::string> names;
  std::vector<std::string> warnings;
  const auto ties = rules.empty() ? std::vector<std::optional<NumberTie>>() : number_ties(source.tensors(), left_out);
  UncastTensors stayed;
  for (std::size_t i = 0; i < selection.tensors.size() && !rules.empty(); ++i) {
    Tensor& tensor = selection.tensors[i];
    const Tensor& read = source.tensors()[selection.source_of[i]];
    const auto& tie = ties[selection.source_of[i]];
    // Scales of MXFP4 have a type of their own. Scales in integers cannot be cast.
    const bool is_opaque =
        tie && !read.verbatim && (tie->role == NumberTie::Role::codes || read.dtype.name == "f8_e8m0");
    if (!is_castable(tensor) && !is_opaque) continue;
    names.push_back(read.name);
    const auto rule = last_of(index, read.name, is_used);
    if (!rule) continue;
    if (are_same_numbers(rules[*rule].dtype, tensor.dtype)) {
      if (is_castable(tensor)) tensor.dtype = rules[*rule].dtype;  // in these programs' own form
      continue;
    }
    if (tie && is_of_all(rules[*rule]) && !rules[*rule].takes_tied)
      stayed.add(read.name, *tie);
    else if (tie && !rules[*rule].takes_tied)
      refuse_tied(rules[*rule], read, *tie);
    else if (!is_castable(tensor))
      refuse_uncastable(rules[*rule], read);
    else
      tensor.dtype = rules[*rule].dtype;
  }
  stayed.report_to(warnings);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (is_used[i]) continue;
    warnings.push_back("nothing is cast to " + rules[i].dtype.name + ": no floating-point parameter matches '" +
                       rules[i].names.text() + "'; " + better_pattern(rules[i].names, names));
  }
  return warnings;
}

bool is_cast(const std::vector<CastRule>& rules, const Tensor& read) {
  return std::ranges::any_of(rules, [&](const CastRule& rule) { return rule.names.matches(read.name); });
}

std::uint64_t count_cast(const Selection& selection, const Placement& source) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < selection.tensors.size(); ++i)
    if (!selection.tensors[i].verbatim &&
        selection.tensors[i].dtype.name != source.tensors()[selection.source_of[i]].dtype.name)
      ++count;
  return count;
}

std::vector<Overflow> report_overflows(const std::map<ParameterId, std::uint64_t>& mine, const Placement& target,
                                       Communicator& processes) {
  std::map<ParameterId, std::uint64_t> all;
  for (const auto& each : gather_all(mine, processes))
    for (const auto& [parameter, elements] : each) all[parameter] += elements;
  std::vector<Overflow> overflows;
  for (const auto& [parameter, elements] : all) {
    const Tensor& tensor = target.tensors()[parameter];
    overflows.push_back({tensor.name, tensor.dtype.name, elements});
    if (overflows.size() > most_overflow_warnings) continue;
    log::warn("parameter '{}': {} of {} elements {} too large for {}: infinite now", tensor.name, elements,
              numel(tensor.shape), elements == 1 ? "is" : "are", tensor.dtype.name);
  }
  if (overflows.size() > most_overflow_warnings)
    log::warn("so have {} more parameters elements that are too large", overflows.size() - most_overflow_warnings);
  return overflows;
}

void warn_of_overflows(const Checkpoint& source, Communicator& processes) {
  const auto warn = [&](const std::vector<std::string>& mine, const std::string& what) {
    std::set<std::string> names;
    for (const auto& each : gather_all(mine, processes)) names.insert(each.begin(), each.end());
    if (!names.empty()) log::warn("{} and infinite now: {}", what, join({names.begin(), names.end()}));
  };
  if (const DequantisedFiles* const numbers = source.dequantised())
    warn(numbers->overflowed(), "numbers are too large for " + numbers->how().dtype.name.str());
  if (const AveragedFiles* const averages = source.averaged())
    warn(averages->overflowed(), "weighted sums of finite numbers are too large");
}

}  // namespace ckpt
