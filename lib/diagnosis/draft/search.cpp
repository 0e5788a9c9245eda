#include "diagnosis/draft/search.hpp"

#include <algorithm>

#include "diagnosis/draft/parts_in_data.hpp"

namespace ckpt::drafting {

namespace {

std::string declaration(const Question& question, const Mesh& mesh) {
  std::string text = question.first().dtype.name + (question.expected ? to_string(*question.expected) : "?");
  for (const Axis axis : question.differing) text += " " + mesh.axes[axis];
  for (std::size_t p = 0; p < question.pieces.size(); ++p) {
    const StoredArray* array = question.pieces[p].array;
    const StoredArray* before = p == 0 ? nullptr : question.pieces[p - 1].array;
    if (array == nullptr)
      text += ".";
    else if (before != nullptr && before->shape == array->shape)
      text += "\"";
    else
      text += to_string(array->shape);
  }
  return text;
}

/// The keys without what makes no difference on this mesh if the pieces fit.
Keys meaning(Keys keys) {
  keys.uneven.reset();
  if (keys.pad)
    for (auto& [dim, pad] : *keys.pad) pad.multiple_of = 1;
  if (keys.flat) keys.flat->multiple_of = 1;
  return keys.plain();
}

bool includes(const std::vector<Axis>& all, const std::vector<Axis>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace

std::vector<Keys> Search::fitting(const Question& question) {
  const std::string key = declaration(question, mesh_);
  std::vector<Keys>& known = fitted_[key];
  if (!question.has_data && !question.is_constant && !known.empty()) return known;
  Trial trial(mesh_, question, cards_, reference_);
  if (question.has_data && !question.is_constant)
    for (const Keys& keys : known)
      if (trial.fits(keys)) return {keys};
  std::vector<Keys> found = search(question, trial);
  if (!question.is_constant && (!question.has_data || found.size() == 1))
    known.insert(known.end(), found.begin(), found.end());
  return found;
}

void Search::find_parts(const Question& question) {
  for (std::size_t dim = 0; dim < question.expected->size(); ++dim) {
    const auto sizes = parts_in_data(question, dim, cards_, *reference_);
    if (sizes && std::find(parts_.begin(), parts_.end(), *sizes) == parts_.end()) parts_.push_back(*sizes);
  }
}

std::vector<Keys> Search::search(const Question& question, Trial& trial) {
  const std::vector<Axis>& differing = question.differing;
  const std::vector<std::vector<Axis>> all = sets_of_axes(mesh_);
  std::vector<std::vector<std::vector<Axis>>> tries{{differing}, {}};
  for (const auto& axes : all)
    if (question.has_data || includes(axes, differing)) tries.back().push_back(axes);
  if (question.is_constant) tries.erase(tries.begin());
  bool has_parts = false;
  for (const auto& sets : tries)
    for (const Family family : families) {
      const bool is_first_copy = family == Family::first;
      if (is_first_copy && (!question.expected || question.first().shape.size() > 1)) continue;
      if (family == Family::parts && question.has_data && !question.is_constant && !has_parts &&
          question.expected->size() == question.first().shape.size()) {
        find_parts(question);
        has_parts = true;
      }
      std::vector<Keys> found;
      std::vector<Keys> meanings;
      for (const auto& axes : is_first_copy ? std::vector<std::vector<Axis>>{{}} : sets)
        for (const Keys& keys : candidates(family, question, axes, parts_)) {
          Keys meant = meaning(keys);
          if (std::find(meanings.begin(), meanings.end(), meant) != meanings.end() || !trial.fits(keys)) continue;
          meanings.push_back(std::move(meant));
          found.push_back(keys);
        }
      if (!found.empty()) return found;
    }
  return {};
}

}  // namespace ckpt::drafting
