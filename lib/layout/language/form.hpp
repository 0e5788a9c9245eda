#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/shared.hpp"
#include "layout/language/parse_node.hpp"

namespace ckpt::parsing {

template <class Items, class Write>
std::string joined(const Items& items, const Write& write) {
  std::string text;
  for (const auto& item : items) text.append(text.empty() ? "" : ", ").append(write(item));
  return text;
}

template <class Items, class Write>
std::string listed(const Items& items, const Write& write) {
  return "[" + joined(items, write) + "]";
}

/// An object of a map, whose keys are names or numbers.
template <class Map, class Write>
std::string members(const Map& map, const Write& write) {
  const auto member = [&](const auto& entry) {
    if constexpr (std::is_integral_v<typename Map::key_type>)
      return json_string(std::to_string(entry.first)) + ": " + write(entry.second);
    else
      return json_string(entry.first) + ": " + write(entry.second);
  };
  return "{" + joined(map, member) + "}";
}

/// A list with each item on a line of its own, for the top level of a layout.
template <class Items, class Write>
std::string lines(const Items& items, const Write& write) {
  std::string text;
  for (const auto& item : items) text.append(text.empty() ? "[\n    " : ",\n    ").append(write(item));
  return text + "\n  ]";
}

/// A function that its copies share, since descriptions contain one another many times.
template <class Signature>
class Shareable;
template <class Result, class... Arguments>
class Shareable<Result(Arguments...)> {
 public:
  Shareable() = default;
  template <class Function>
  requires(!std::is_same_v<Function, Shareable>) Shareable(Function function)
      : function_(std::function<Result(Arguments...)>(std::move(function))) {}

  explicit operator bool() const noexcept { return bool(function_); }
  Result operator()(Arguments... arguments) const { return (*function_)(std::forward<Arguments>(arguments)...); }

 private:
  Shared<std::function<Result(Arguments...)>> function_;
};

/// The one description of a kind of value in the layout language: how it is read and checked, how it is written (as
/// JSON on one line), and the members of its JSON schema: `"type": "integer", "minimum": 0`.
template <class Value>
struct Form {
  std::string schema;
  Shareable<Value(const Node&, const Mesh&)> read;
  Shareable<std::string(const Value&, const Mesh&)> write;

  /// The schema becomes a definition of this name, to which all uses refer.
  Form named(std::string_view name) && {
    schema = R"("$ref": {"name": ")" + std::string(name) + R"(", "schema": {)" + schema + "}}";
    return std::move(*this);
  }
};

/// Returns the members of a schema with a description before them.
std::string described(std::string_view says, const std::string& schema);

/// Returns the members of a schema for a list of such items. `limits`: further members, such as "minItems".
std::string list_schema(const std::string& item, std::string_view limits = {});

Form<std::uint64_t> number(std::uint64_t least, std::uint64_t most);
const Form<std::uint64_t>& natural();
const Form<std::uint64_t>& positive();
const Form<bool>& truth();
const Form<std::string>& text();
const Form<Axis>& axis();
const Form<Pattern>& glob();
/// A list of numbers, which for millions of them is read faster than others.
Form<std::vector<std::uint64_t>> numbers(std::string_view limits = {}, const Form<std::uint64_t>& item = natural());

template <std::size_t Count, class Value>
Form<Value> word(const std::array<Word<Value>, Count>& words) {
  const auto text_of = [](const Word<Value>& word) { return json_string(word.text); };
  return {Count == 1 ? "\"const\": " + text_of(words.front()) : "\"enum\": " + listed(words, text_of),
          [&words](const Node& node, const Mesh&) { return node.word(words); },
          [&words](const Value& value, const Mesh&) {
            for (const auto& word : words)
              if (word.value == value) return json_string(word.text);
            return std::string("null");
          }};
}

template <class Value>
Form<std::vector<Value>> list_of(const Form<Value>& item, std::string_view limits = {}) {
  return {list_schema(item.schema, limits),
          [item](const Node& node, const Mesh& mesh) {
            std::vector<Value> values;
            for (const Node& each : node.items()) values.push_back(item.read(each, mesh));
            return values;
          },
          [item](const std::vector<Value>& values, const Mesh& mesh) {
            return listed(values, [&](const Value& value) { return item.write(value, mesh); });
          }};
}

/// A list at the top level of a layout, which is written in lines.
template <class Value>
Form<std::vector<Value>> lines_of(const Form<Value>& item) {
  auto form = list_of(item);
  form.write = [item](const std::vector<Value>& values, const Mesh& mesh) {
    return lines(values, [&](const Value& value) { return item.write(value, mesh); });
  };
  return form;
}

/// One value, or a list of them; `expected`: what an empty list is not.
template <class Value>
Form<std::vector<Value>> one_or_list(const Form<Value>& item, const std::string& expected, std::string_view limits) {
  const auto list = list_of(item);
  return {R"("oneOf": [{)" + item.schema + "}, {" + list_schema(item.schema, limits) + "}]",
          [item, list, expected](const Node& node, const Mesh& mesh) {
            auto values = node.is_list() ? list.read(node, mesh) : std::vector<Value>{item.read(node, mesh)};
            if (values.empty()) node.fail(expected);
            return values;
          },
          [item, list](const std::vector<Value>& values, const Mesh& mesh) {
            return values.size() == 1 ? item.write(values.front(), mesh) : list.write(values, mesh);
          }};
}

/// An object whose keys are numbers of dimensions.
template <class Value>
Form<std::map<std::size_t, Value>> by_dimension(const Form<Value>& item) {
  return {R"("type": "object", "patternProperties": {"^([0-9]|[12][0-9]|3[01])$": {)" + item.schema +
              R"(}}, "additionalProperties": false)",
          [item](const Node& node, const Mesh& mesh) {
            std::map<std::size_t, Value> values;
            for (const auto& key : node.keys())
              values.emplace(node.dimension_key(key), item.read(node.member(key), mesh));
            return values;
          },
          [item](const std::map<std::size_t, Value>& values, const Mesh& mesh) {
            return members(values, [&](const Value& value) { return item.write(value, mesh); });
          }};
}

/// Return the value to write for a key that may be absent; null: none is needed.
template <class Value>
const Value* beside_default(const Value& value, const Value& otherwise) {
  return value == otherwise ? nullptr : &value;
}
template <class Value>
const Value* beside_default(const std::optional<Value>& value, const std::optional<Value>&) {
  return value ? &*value : nullptr;
}
template <class Value>
const Value* beside_default(const Shared<Value>& value, const Shared<Value>&) {
  return value.get();
}

/// The schema of a key: a text, or a function that makes one, as programs that read a layout need none.
class KeySchema {
 public:
  KeySchema(std::string text) : make_([text = std::move(text)] { return text; }) {}
  template <std::invocable Make>
  KeySchema(Make make) : make_(std::move(make)) {}

  std::string text() const { return make_(); }

 private:
  Shareable<std::string()> make_;
};

/// The keys of an object, each described once and in the order in which they are read and written.
template <class Object>
class ObjectForm {
 public:
  using Read = Shareable<void(const Node& value, const Mesh& mesh, Object& object)>;
  using Write = Shareable<std::string(const Object& object, const Mesh& mesh)>;
  using Check = Shareable<void(const Node& node, const Mesh& mesh, Object& object)>;

  struct Key {
    std::string name;
    bool is_required = false;
    KeySchema schema;
    Read read;
    Write write;  ///< gives an empty text for a key that is left out
  };

  ObjectForm& add(Key key) {
    names_.push_back(key.name);
    if (key.is_required) required_.push_back(key.name);
    keys_.push_back(std::move(key));
    return *this;
  }
  template <class Member, class Value>
  ObjectForm& required(const char* name, Member Object::*member, const Form<Value>& form, std::string_view says = {}) {
    return add({name, true, described(says, form.schema), reader(member, form),
                [=](const Object& object, const Mesh& mesh) { return form.write(object.*member, mesh); }});
  }
  /// A key that is absent where the member has its default value.
  template <class Member, class Value>
  ObjectForm& optional(const char* name, Member Object::*member, const Form<Value>& form, std::string_view says = {}) {
    return add({name, false, described(says, form.schema), reader(member, form),
                [=, otherwise = Object{}.*member](const Object& object, const Mesh& mesh) {
                  const Value* const value = beside_default(object.*member, otherwise);
                  return value == nullptr ? std::string() : form.write(*value, mesh);
                }});
  }
  /// As above, with a form that is made when the key is met.
  template <class Member, class Value>
  ObjectForm& optional(const char* name, Member Object::*member, const Form<Value>& (*form_of)(),
                       std::string_view says) {
    return add(
        {name, false, [=] { return described(says, form_of().schema); },
         [=](const Node& node, const Mesh& mesh, Object& object) { object.*member = form_of().read(node, mesh); },
         [=, otherwise = Object{}.*member](const Object& object, const Mesh& mesh) {
           const Value* const value = beside_default(object.*member, otherwise);
           return value == nullptr ? std::string() : form_of().write(*value, mesh);
         }});
  }
  /// Takes over keys of a part of the object.
  template <class Part>
  ObjectForm& take(Part Object::*part, const ObjectForm<Part>& form, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto key = form.key(name);
      add({name, false, key.schema,
           [=](const Node& node, const Mesh& mesh, Object& object) { key.read(node, mesh, object.*part); },
           [=](const Object& object, const Mesh& mesh) { return key.write(object.*part, mesh); }});
    }
    return *this;
  }
  /// Checks what the keys say together, once all are read. `conditions`: what the schema can say of it.
  ObjectForm& checked(Check check, std::string_view conditions = {}) {
    check_ = std::move(check);
    conditions_ = conditions;
    return *this;
  }

  Key key(const std::string& name) const {
    for (const Key& each : keys_)
      if (each.name == name) return each;
    throw std::out_of_range("no key " + name);
  }
  const std::vector<Key>& keys() const noexcept { return keys_; }

  void read(const Node& node, const Mesh& mesh, Object& object) const {
    node.check_keys(names_, required_);
    for (const Key& each : keys_)
      if (const auto value = node.find(each.name)) each.read(*value, mesh, object);
    if (check_) check_(node, mesh, object);
  }
  std::string write(const Object& object, const Mesh& mesh) const {
    std::string text;
    for (const Key& each : keys_)
      if (const std::string value = each.write(object, mesh); !value.empty())
        text.append(text.empty() ? "" : ", ").append(json_string(each.name)).append(": ").append(value);
    return "{" + text + "}";
  }
  std::string schema() const {
    const auto property = [](const Key& each) { return json_string(each.name) + ": {" + each.schema.text() + "}"; };
    return R"("type": "object", "properties": {)" + joined(keys_, property) + R"(}, "additionalProperties": false)" +
           (required_.empty() ? "" : ", \"required\": " + listed(required_, json_string)) +
           (conditions_.empty() ? "" : ", " + conditions_);
  }
  Form<Object> form() const {
    const Shared<ObjectForm> self = *this;
    return {schema(),
            [self](const Node& node, const Mesh& mesh) {
              Object object;
              self->read(node, mesh, object);
              return object;
            },
            [self](const Object& object, const Mesh& mesh) { return self->write(object, mesh); }};
  }

 private:
  template <class Member, class Value>
  static Read reader(Member Object::*member, const Form<Value>& form) {
    return [=](const Node& node, const Mesh& mesh, Object& object) { object.*member = form.read(node, mesh); };
  }

  std::vector<Key> keys_;
  std::vector<std::string> names_;
  std::vector<std::string> required_;
  Check check_;
  std::string conditions_;
};

}  // namespace ckpt::parsing
