#include <algorithm>

#include "layout/language/form.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/language/rule_json.hpp"

namespace ckpt::parsing {

namespace {

constexpr std::uint64_t most_chunks = 65536;  // far more than any schedule uses

Pattern parse_in(const Node& node, bool restarts) {
  auto pattern = node.pattern({"i", "chunk"});
  const std::string allowed = restarts ? "{i} and {chunk} only" : "{i} only";
  for (const auto& capture : pattern.captures())
    if (capture != "i" && !(restarts && capture == "chunk"))
      node.fail("the capture {" + capture + "}", allowed, "write * for what is not the index");
  const auto check_once = [&](const char* capture, const char* what) {
    if (const auto times = pattern.occurrences(capture); times != 1)
      node.fail(std::string("{") + capture + "} " + std::to_string(times) + " times", std::string("it once: ") + what);
  };
  check_once("i", "the place of the index");
  if (restarts) check_once("chunk", "where the name tells in which chunk \"restart\" counts");
  return pattern;
}

Form<std::vector<Axis>> axes_form() {
  auto form =
      one_or_list(axis(), "an axis, or a list of axes that is not empty", R"("minItems": 1, "uniqueItems": true)");
  form.read = [read = form.read](const Node& node, const Mesh& mesh) {
    const auto axes = read(node, mesh);
    for (std::size_t i = 1; i < axes.size(); ++i)
      if (std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i)
        node.item(i).fail("the axis " + node.item(i).describe() + " a second time", "each axis once");
    return axes;
  };
  return form;
}

std::string axes_words(const std::vector<Axis>& axes, const Mesh& mesh) {
  std::string text;
  for (const Axis axis : axes) text.append(text.empty() ? "" : " × ").append("\"" + mesh.axes[axis] + "\"");
  return (axes.size() == 1 ? "axis " : "axes ") + text;
}

/// Checks `counts`, the size of each block: they must fit the axes, and `total` if it is given, too.
void check_counts(const Node& rule, const Mesh& mesh, IndexRule& index) {
  const Node counts = rule.member("counts");
  if (const auto ways = mesh.combinations(index.axes); index.counts.size() != ways)
    counts.fail(std::to_string(index.counts.size()) + " counts",
                std::to_string(ways) + ", the size of the " + axes_words(index.axes, mesh));
  const auto total = sum(index.counts);
  if (!total || *total == 0)
    counts.fail(total ? "counts that are all 0" : "counts whose sum is 2^64 or more", "a sum below 2^64 and above 0");
  if (index.total.value_or(*total) != *total)
    rule.member("total").fail(std::to_string(*index.total), std::to_string(*total) + ", the sum of \"counts\"",
                              R"("total" may be left out beside "counts")");
  if (const auto chunks = rule.find("virtual")) chunks->fail(R"("virtual" beside "counts")", "one of the two");
  index.total = *total;
}

void check_total(const Node& rule, const Mesh& mesh, const IndexRule& index) {
  if (index.virtual_chunks > most_chunks)
    rule.member("virtual").fail(std::to_string(index.virtual_chunks), "at most " + std::to_string(most_chunks));
  const std::uint64_t blocks = mesh.combinations(index.axes) * index.virtual_chunks;  // below 2^20 · 2^16
  if (index.total.value_or(0) % blocks != 0)
    rule.member("total").fail(
        std::to_string(*index.total),
        "a multiple of " + std::to_string(blocks) + " (" + axes_words(index.axes, mesh) + " × virtual)",
        "give \"counts\" for uneven blocks");
}

void check_local_names(const Node& rule, const IndexRule& index) {
  const bool is_local = index.numbering == Numbering::local;
  if (const auto first = rule.find("first"); first && !is_local)
    first->fail(R"("first" without "numbering": "local")", "it to say where local numbers begin");
  if (!index.restart) return;
  const Node restart = rule.member("restart");
  if (!is_local) restart.fail(R"("restart" without "numbering": "local")", "it to say that local numbers begin anew");
  if (!rule.has("virtual")) restart.fail(R"("restart" without "virtual")", "the number of chunks beside it");
}

void check_index(const Node& rule, const Mesh& mesh, IndexRule& index) {
  index.in = parse_in(rule.member("in"), index.restart);
  if (rule.has("counts"))
    check_counts(rule, mesh, index);
  else
    check_total(rule, mesh, index);
  check_local_names(rule, index);
}

constexpr std::string_view in_schema =
    R"("description": "A pattern with the capture {i} once and, with restart, {chunk} once.", )"
    R"("type": "string", "maxLength": 4096, )"
    R"("pattern": "^([^\\[{\\u0000]|\\{chunk\\}|\\[(!(?=[^\\]]))?[^\\u0000][^\\]\\u0000]*\\])*\\{i\\})"
    R"(([^\\[{\\u0000]|\\{chunk\\}|\\[(!(?=[^\\]]))?[^\\u0000][^\\]\\u0000]*\\])*$")";

constexpr std::string_view index_conditions =
    R"("not": {"required": ["counts", "virtual"]}, "allOf": [)"
    R"({"if": {"properties": {"restart": {"const": true}}, "required": ["restart"]}, )"
    R"("then": {"properties": {"in": {"pattern": "\\{chunk\\}"}, "numbering": {"const": "local"}}, )"
    R"("required": ["numbering", "virtual"]}, )"
    R"("else": {"properties": {"in": {"not": {"pattern": "\\{chunk\\}"}}}}}, )"
    R"({"if": {"required": ["first"]}, )"
    R"("then": {"properties": {"numbering": {"const": "local"}}, "required": ["numbering"]}}])";

}  // namespace

const Form<IndexRule>& index_form() {
  static const auto form = [] {
    constexpr std::uint64_t most_first = std::uint64_t{1} << 62U;
    const auto read_later = [](const Node&, const Mesh&, IndexRule&) {};  // `restart` says which captures it has
    const auto written = [](bool is_written, const std::string& text) { return is_written ? text : std::string(); };
    return ObjectForm<IndexRule>()
        .add({"in", true, std::string(in_schema), read_later,
              [](const IndexRule& index, const Mesh&) { return json_string(index.in.text()); }})
        .required("axis", &IndexRule::axes, axes_form(), "The axis, or several, major first.")
        .add({"total", false,
              described("How many there are; left out, the names in the files tell.", positive().schema),
              [](const Node& node, const Mesh&, IndexRule& index) { index.total = node.number(1); },
              [=](const IndexRule& index, const Mesh&) {
                return written(index.total && index.counts.empty(), std::to_string(index.total.value_or(0)));
              }})
        .optional("numbering", &IndexRule::numbering, word(numbering_words),
                  "Whether a stored name carries the local or the global index; default global.")
        .optional("counts", &IndexRule::counts, numbers(R"("minItems": 1)").named("sizes"),
                  "Uneven blocks, one for each coordinate of the axis.")
        .add({"virtual", false, described("Chunks of each stage in an interleaved schedule.", positive().schema),
              [](const Node& node, const Mesh&, IndexRule& index) { index.virtual_chunks = node.number(1); },
              [=](const IndexRule& index, const Mesh&) {
                return written(index.virtual_chunks != 1 || index.restart, std::to_string(index.virtual_chunks));
              }})
        .optional("first", &IndexRule::first, number(0, most_first), "Where stored local indices begin; default 0.")
        .optional("restart", &IndexRule::restart, truth(),
                  "Local indices begin anew in each virtual chunk, whose number is {chunk} in the name.")
        .checked(check_index, index_conditions)
        .form()
        .named("index");
  }();
  return form;
}

}  // namespace ckpt::parsing

namespace ckpt {

std::string to_json(const IndexRule& index, const Mesh& mesh) {
  return parsing::index_form().write(index, mesh);
}

}  // namespace ckpt
