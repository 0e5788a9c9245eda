#pragma once

#include <cstdint>
#include <vector>

#include "layout/language/form.hpp"
#include "layout/language/layout.hpp"

namespace ckpt::parsing {

/// The keys that say what a card stores, which rules and members of buckets share.
const ObjectForm<Keys>& keys_form();
/// Checks the keys of a rule or of a bucket's member against one another. `borrows`: a `like` accompanies them, so that
/// missing keys may come from another rule; otherwise those with default values are dropped.
void check_keys(const Node& node, const Mesh& mesh, Keys& keys, bool borrows);

const Form<std::vector<std::uint64_t>>& shape_form();
const Form<Boxes>& boxes_form();
const Form<std::vector<std::uint64_t>>& grid_form();
/// Checks `boxes` in itself, and for the shape that accompanies it.
void check_boxes(const Node& rule, const Keys& keys, const Mesh& mesh);

struct ParsedAt {
  At at;
  At last;  ///< see Keys::at_last
};
const Form<ParsedAt>& at_form();

/// The key `at` of an object that has it as its members `at` and `at_last`.
template <class Object>
typename ObjectForm<Object>::Key at_key() {
  return {"at", false, at_form().schema,
          [](const Node& node, const Mesh& mesh, Object& object) {
            ParsedAt parsed = at_form().read(node, mesh);
            object.at = std::move(parsed.at);
            object.at_last = std::move(parsed.last);
          },
          [](const Object& object, const Mesh& mesh) {
            return object.at ? at_form().write({*object.at, object.at_last}, mesh) : "";
          }};
}

}  // namespace ckpt::parsing
