#include "output/dropped_names.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

namespace ckpt {

Error dropping_sources(const Error& error, const SourceNames& names_of) {
  Error::Parts parts = error.to_wire();
  Advice& advice = std::get<Error::Text>(parts).advice;
  const std::string names = advice.detail.empty() ? error.parameter() : advice.detail;
  const bool tells_names = names.find_first_not_of('\n') != std::string::npos;
  if (advice.what != Advice::What::leave_out || !tells_names) return error;
  std::vector<std::string> sources;
  std::istringstream lines(names);
  for (std::string name; std::getline(lines, name);) {
    const std::vector<std::string> of_name = names_of(name);
    if (of_name.empty()) {
      advice = {Advice::What::choose_others, ""};
      return Error(std::move(parts));
    }
    sources.insert(sources.end(), of_name.begin(), of_name.end());
  }
  std::ranges::sort(sources);
  sources.erase(std::ranges::unique(sources).begin(), sources.end());
  advice = leaving_out(sources);
  return Error(std::move(parts));
}

}  // namespace ckpt
