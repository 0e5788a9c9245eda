#include <algorithm>

#include "layout/language/parse_sections.hpp"

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

std::vector<Axis> parse_axes_of_index(const Node& node, const Mesh& mesh) {
  if (!node.is_list()) return {node.axis(mesh)};
  std::vector<Axis> axes;
  for (const auto& item : node.items()) {
    const Axis axis = item.axis(mesh);
    if (std::find(axes.begin(), axes.end(), axis) != axes.end())
      item.fail("the axis " + item.describe() + " a second time", "each axis once");
    axes.push_back(axis);
  }
  if (axes.empty()) node.fail("an axis, or a list of axes that is not empty");
  return axes;
}

std::string axes_words(const std::vector<Axis>& axes, const Mesh& mesh) {
  std::string text;
  for (const Axis axis : axes) text.append(text.empty() ? "" : " × ").append("\"" + mesh.axes[axis] + "\"");
  return (axes.size() == 1 ? "axis " : "axes ") + text;
}

/// Parses `counts`, the size of each block: they must fit the axes, and `total` if it is given, too.
void parse_counts(const Node& rule, const Node& counts, const Mesh& mesh, IndexRule& index) {
  index.counts = counts.numbers();
  if (const auto ways = mesh.combinations(index.axes); index.counts.size() != ways)
    counts.fail(std::to_string(index.counts.size()) + " counts",
                std::to_string(ways) + ", the size of the " + axes_words(index.axes, mesh));
  const auto total = sum(index.counts);
  if (!total || *total == 0)
    counts.fail(total ? "counts that are all 0" : "counts whose sum is 2^64 or more", "a sum below 2^64 and above 0");
  const auto given = rule.find("total");
  if (given && given->number(1) != *total)
    given->fail(given->describe(), std::to_string(*total) + ", the sum of \"counts\"",
                R"("total" may be left out beside "counts")");
  if (const auto chunks = rule.find("virtual")) chunks->fail(R"("virtual" beside "counts")", "one of the two");
  index.total = *total;
}

void parse_total(const Node& rule, const Mesh& mesh, IndexRule& index) {
  if (const auto chunks = rule.find("virtual")) {
    index.virtual_chunks = chunks->number(1);
    if (index.virtual_chunks > most_chunks) chunks->fail(chunks->describe(), "at most " + std::to_string(most_chunks));
  }
  const auto total = rule.find("total");
  if (!total) return;
  index.total = total->number(1);
  const std::uint64_t blocks = mesh.combinations(index.axes) * index.virtual_chunks;  // below 2^20 · 2^16
  if (*index.total % blocks != 0)
    total->fail(total->describe(),
                "a multiple of " + std::to_string(blocks) + " (" + axes_words(index.axes, mesh) + " × virtual)",
                "give \"counts\" for uneven blocks");
}

void parse_local_names(const Node& rule, IndexRule& index) {
  if (const auto first = rule.find("first")) {
    if (index.numbering != Numbering::local)
      first->fail(R"("first" without "numbering": "local")", "it to say where local numbers begin");
    constexpr std::uint64_t most_first = std::uint64_t{1} << 62U;
    index.first = first->number(0, most_first);
  }
  if (const auto restart = rule.find("restart"); restart && index.restart) {
    if (index.numbering != Numbering::local)
      restart->fail(R"("restart" without "numbering": "local")", "it to say that local numbers begin anew");
    if (!rule.has("virtual")) restart->fail(R"("restart" without "virtual")", "the number of chunks beside it");
  }
}

}  // namespace

std::vector<IndexRule> parse_indices(const Node& node, const Mesh& mesh) {
  std::vector<IndexRule> indices;
  for (const auto& item : node.items()) {
    item.check_keys({"in", "axis", "total", "numbering", "counts", "virtual", "first", "restart"}, 2);
    IndexRule index;
    if (const auto restart = item.find("restart")) index.restart = restart->truth();
    index.in = parse_in(item.member("in"), index.restart);
    index.axes = parse_axes_of_index(item.member("axis"), mesh);
    if (const auto numbering = item.find("numbering")) index.numbering = numbering->word(numbering_words);
    if (const auto counts = item.find("counts"))
      parse_counts(item, *counts, mesh, index);
    else
      parse_total(item, mesh, index);
    parse_local_names(item, index);
    indices.push_back(std::move(index));
  }
  return indices;
}

}  // namespace ckpt::parsing
