#include "layout/names/entry_names.hpp"

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

constexpr std::size_t model = 0;
constexpr std::size_t optimizer = 1;

/// Model and optimizer files, and more to say of the names in them.
Layout two_entries(const std::string& rest) {
  return layout(
      R"(["pp"])", "[2]",
      R"("files": [{"path": "model_{pp}", "prefix": "model/"}, {"path": "optim_{pp}", "prefix": "model/optim/"}],
                   "default": "replicate", )" +
          rest);
}

}  // namespace

TEST_CASE("an entry holds the names that begin with its prefix, but for those of a longer one") {
  const Layout layout = two_entries(R"("rename": [])");
  const EntryNames names(layout);
  CHECK(names.may_hold(model, "model/layers."));
  CHECK(names.may_hold(model, ""));
  CHECK(names.may_hold(model, "mod"));
  CHECK_FALSE(names.may_hold(model, "model/optim/layers."));
  CHECK_FALSE(names.may_hold(model, "layers."));
  CHECK(names.may_hold(optimizer, "model/optim/layers."));
  CHECK(names.may_hold(optimizer, "model/"));
  CHECK_FALSE(names.may_hold(optimizer, "model/layers."));
}

TEST_CASE("names begin as rename says") {
  const Layout layout = two_entries(
      R"("rename": [{"stored": "model/optim/{x}", "name": "adam.{x}"}, {"stored": "model/{x}", "name": "{x}"}])");
  const EntryNames names(layout);
  CHECK(names.may_hold(optimizer, "adam.layers."));
  CHECK_FALSE(names.may_hold(optimizer, "layers."));
  CHECK_FALSE(names.may_hold(optimizer, "model/optim/layers."));
  CHECK(names.may_hold(model, "layers."));
  CHECK(names.may_hold(model, "adam.layers."));  // model/adam.layers., as far as anybody knows

  const Layout kept = two_entries(R"("rename": [{"stored": "model/{x}", "name": "m.{x}"}])");
  CHECK(EntryNames(kept).may_hold(optimizer, "m.optim/layers."));
  CHECK_FALSE(EntryNames(kept).may_hold(optimizer, "m.layers."));
}

TEST_CASE("a rename that takes some of an entry's names leaves the others as they are") {
  const Layout layout = two_entries(R"("rename": [{"stored": "model/a.{x}", "name": "a.{x}"}])");
  const EntryNames names(layout);
  CHECK(names.may_hold(model, "a."));
  CHECK(names.may_hold(model, "model/b."));
  CHECK_FALSE(names.may_hold(model, "b."));
}

TEST_CASE("a rule's `at` is in an entry where its names are, or those that borrow it") {
  const Layout layout = two_entries(
      R"("parameters": [{"name": "model/embed", "at": {"pp": 0}}, {"name": "model/head", "at": {"pp": "last"}},
                        {"name": "model/optim/m.{x}", "like": "model/optim/v.{x}"},
                        {"name": "model/optim/v.{x}", "like": "model/e{x}"}])");
  const EntryNames names(layout);
  CHECK(names.may_hold(model, layout.parameters[0]));
  CHECK(names.may_hold(optimizer, layout.parameters[0]));
  CHECK(names.may_hold(model, layout.parameters[1]));
  CHECK_FALSE(names.may_hold(optimizer, layout.parameters[1]));
}
