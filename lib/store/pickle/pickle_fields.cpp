#include "store/pickle/pickle_fields.hpp"

#include <string>

#include "base/error.hpp"

namespace ckpt::torch {

namespace {

[[noreturn]] void refuse_field(std::string_view what, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, what, {found, expected, "is the file damaged, or of a newer version?"});
}

}  // namespace

PickleId field_of(const Pickle& pickle, PickleId object, std::string_view name) {
  const PickleNode& node = pickle[object];
  const PickleId state = node.kind == PickleKind::call ? node.state : object;
  if (state == no_node) return no_node;
  if (pickle[state].kind != PickleKind::tuple) return pickle.value_of(state, name);
  for (const PickleId part : pickle[state].items)
    if (const PickleId found = pickle.value_of(part, name); found != no_node) return found;
  return no_node;
}

PickleId need_field(const Pickle& pickle, PickleId object, std::string_view name) {
  const PickleId found = field_of(pickle, object, name);
  if (found == no_node) refuse_field(class_of(pickle, object), "has no attribute \"" + std::string(name) + "\"", "one");
  return found;
}

std::string_view class_of(const Pickle& pickle, PickleId object) {
  const std::string_view name = pickle.name_of(object);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

bool is_none(const Pickle& pickle, PickleId id) {
  return pickle[id].kind == PickleKind::none;
}

std::uint64_t whole_number(const Pickle& pickle, PickleId id, std::string_view what) {
  const PickleNode& node = pickle[id];
  if (node.kind != PickleKind::integer) refuse_field(what, "is no number of 64 bits", "a whole number");
  if (node.number < 0) refuse_field(what, "is " + std::to_string(node.number), "0 or more");
  return static_cast<std::uint64_t>(node.number);
}

PickleId list_of(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  if (node.kind != PickleKind::call || class_of(pickle, id) != "Size") return id;
  const PickleNode& arguments = pickle[node.arguments];
  if (arguments.kind != PickleKind::tuple || arguments.items.size() > 1) return id;
  return arguments.items.empty() ? node.arguments : arguments.items.front();  // without arguments it has no dimension
}

const std::vector<PickleId>& items_in(const Pickle& pickle, PickleId id, std::string_view what) {
  const PickleNode& node = pickle[list_of(pickle, id)];
  if (node.kind != PickleKind::tuple && node.kind != PickleKind::list) refuse_field(what, "is no list", "a list");
  return node.items;
}

Shape whole_numbers(const Pickle& pickle, PickleId id, std::string_view what) {
  Shape numbers;
  for (const PickleId item : items_in(pickle, id, what)) numbers.push_back(whole_number(pickle, item, what));
  return numbers;
}

std::string_view text_of(const Pickle& pickle, PickleId id, std::string_view what) {
  if (pickle[id].kind != PickleKind::text) refuse_field(what, "is no text", "a text");
  return pickle[id].text;
}

}  // namespace ckpt::torch
