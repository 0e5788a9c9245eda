#include "layout/language/parse_json.hpp"

namespace ckpt::parsing {

namespace {

const JsonRules& layout_rules() {
  static const JsonRules rules{Kind::layout, "a layout", "JSON has no comments and no comma after the last item"};
  return rules;
}

}  // namespace

nlohmann::json parse_json(const std::string& text, const std::string& origin) {
  if (text.size() > max_json_bytes)
    throw Error(Kind::layout, origin,
                {"found a layout of " + std::to_string(text.size()) + " bytes", "at most 64 MiB", ""});
  return ckpt::parse_json(text, origin, layout_rules());
}

nlohmann::json parse_json(const std::string& text, const std::string& origin, const std::string& streamed,
                          const std::function<void(const std::string&, const nlohmann::json&)>& visit) {
  return ckpt::parse_json(text, origin, layout_rules(), streamed, visit);
}

}  // namespace ckpt::parsing
