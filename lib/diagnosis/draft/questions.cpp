#include "diagnosis/draft/questions.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "layout/names/naming.hpp"

namespace ckpt::drafting {

namespace {

/// Why no mesh allows this question; nothing if it can be asked.
std::optional<Open> obstacle(const Question& question, const std::set<std::string>& stored) {
  if (stored.size() > 1)
    return Open{
        "stored as " + *stored.begin() + " and as " + *stored.rbegin(), {}, "one name on every card: see \"rename\""};
  const DType& dtype = question.first().dtype;
  for (const Piece& piece : question.pieces)
    if (piece.array != nullptr && !(piece.array->dtype == dtype))
      return Open{"stored as " + dtype.name + " and as " + piece.array->dtype.name, {}, "one dtype on every card"};
  const std::size_t rank = question.first().shape.size();
  for (const Piece& piece : question.pieces)
    if (piece.array != nullptr && piece.array->shape.size() != rank)
      return Open{"pieces of different numbers of dimensions", {}, "one number of dimensions on every card"};
  return std::nullopt;
}

Open open_by_place(const Mesh& mesh, const Question& question) {
  return {
      "on the cards " + list_cards(mesh, holders(question.pieces)) + " only, which are not those of some coordinates",
      {},
      "the mesh's other axes, or \"boxes\"",
      {Advice::What::give_mesh, ""}};
}

void expect(Question& question, const WholeTensors* reference) {
  const StoredArray& first = question.first();
  if (reference == nullptr) {
    question.expected = first.global_shape;
    return;
  }
  const Tensor* tensor = reference->find(question.name);
  if (tensor == nullptr) {
    question.expected = first.global_shape;
    return;
  }
  question.expected = tensor->shape;
  const bool may_be_near = first.dtype.is_float() && tensor->dtype.is_float();
  question.has_data = reference->has_data() && !tensor->verbatim && are_comparable(first.dtype, tensor->dtype) &&
                      (!reference->tolerance() || may_be_near);
}

}  // namespace

Questions ask(const Layout& layout, const std::vector<NameFacts>& facts, const WholeTensors* reference,
              const std::vector<std::string>& only) {
  const Naming naming(layout);
  const std::set<std::string> wanted(only.begin(), only.end());
  std::vector<std::vector<std::uint64_t>> coordinates;
  for (Position position = 0; position < layout.mesh.size(); ++position)
    coordinates.push_back(layout.mesh.coordinates(position));
  std::map<std::string, Question> by_name;
  std::map<std::string, std::set<std::string>> stored;
  for (const NameFacts& fact : facts) {
    if (!wanted.empty() && !wanted.contains(fact.name)) continue;
    for (Position position = 0; position < fact.pieces.size(); ++position) {
      if (fact.pieces[position].array == nullptr) continue;
      const std::string logical = naming.counted(fact.name, coordinates[position]);
      Question& question = by_name[logical];
      if (question.pieces.empty()) {
        question.name = logical;
        question.stored = fact.stored;
        question.is_constant = fact.is_constant;
        question.pieces.resize(fact.pieces.size());
      }
      stored[logical].insert(fact.stored);
      question.pieces[position] = fact.pieces[position];
    }
  }
  Questions result;
  for (auto& [name, question] : by_name) {
    if (auto open = obstacle(question, stored[name])) {
      result.open[name] = *std::move(open);
      continue;
    }
    const Classes classes = classes_of(question.pieces);
    auto location = location_of(layout.mesh, classes);
    if (!location) {
      result.open[name] = open_by_place(layout.mesh, question);
      continue;
    }
    question.location = *std::move(location);
    question.implied = naming.uncounted(name).at;
    question.differing = differing_axes(layout.mesh, classes);
    expect(question, reference);
    result.all.push_back(std::move(question));
  }
  return result;
}

}  // namespace ckpt::drafting
