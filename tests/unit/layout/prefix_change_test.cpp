#include "layout/names/prefix_change.hpp"

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("A prefix that names have on one side alone is found, with what renames them") {
  const auto removed = prefix_change({"opt.m", "run.model.b", "run.model.w"}, {"b", "w"}, {"step"});
  REQUIRE(removed);
  CHECK(removed->prefix == "run.model.");
  CHECK(removed->renames == "run.model.{x}={x}");
  CHECK(removed->text() == "'run.model.' before 2 names, for example run.model.b for b");

  const auto added = prefix_change({"b", "w"}, {"model.b", "model.w"}, {});
  REQUIRE(added);
  CHECK_FALSE(added->is_removed);
  CHECK(added->renames == "{x}=model.{x}");
  CHECK(added->text() == "'model.' before 2 names, for example model.b for b");
}

TEST_CASE("A renaming leaves the names of both sides as they are") {
  CHECK(prefix_change({"a.x", "a.y"}, {"x", "y"}, {"a.z"})->renames.empty());
  CHECK(prefix_change({"l.0", "l.1"}, {"m.l.0", "m.l.1"}, {"head"})->renames == "l.{x}=m.l.{x}");
  CHECK(prefix_change({"l.0", "l.1"}, {"m.l.0", "m.l.1"}, {"l.2"})->renames.empty());
  CHECK(prefix_change({"a", "l.0"}, {"m.a", "m.l.0"}, {"head"})->renames == "a=m.a\nl.{x}=m.l.{x}");
}

TEST_CASE("No renaming is proposed that gives two parameters one name") {
  CHECK(prefix_change({"model.a", "model.b", "model.c"}, {"a", "b"}, {"c"})->renames.empty());
  CHECK(prefix_change({"l.0", "l.1", "l.2"}, {"m.l.0", "m.l.1"}, {"m.l.2"})->renames.empty());
  CHECK(prefix_change({"a.x", "a.y", "a.z", "z"}, {"x", "y"}, {})->renames.empty());
}

TEST_CASE("Characters that mean something in a pattern are taken as they are, or nothing is proposed") {
  CHECK(prefix_change({"a[0].x", "a[0].y"}, {"x", "y"}, {})->renames == "a[[]0].{x}={x}");
  CHECK(prefix_change({"x", "y"}, {"a[0].x", "a[0].y"}, {})->renames.empty());
}

TEST_CASE("One name, or few of many, prove no prefix") {
  CHECK_FALSE(prefix_change({"model.w"}, {"w"}, {}));
  CHECK_FALSE(prefix_change({"m.a", "m.b"}, {"a", "b", "c", "d", "e"}, {}));
  CHECK_FALSE(prefix_change({"modelw", "modelb"}, {"w", "b"}, {}));
  CHECK_FALSE(prefix_change({}, {}, {"w"}));
}
