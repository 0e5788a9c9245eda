#include "diagnosis/draft/fused_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace ckpt::drafting {

namespace {

struct FusedName {
  std::string_view part;  ///< of the name, in lower case and without separators
  std::uint64_t parts = 0;
};

constexpr std::array<FusedName, 15> fused_names{{{"qkv", 3},
                                                 {"querykeyvalue", 3},
                                                 {"cattn", 3},
                                                 {"wpack", 3},
                                                 {"inproj", 3},
                                                 {"gateup", 2},
                                                 {"upgate", 2},
                                                 {"w13", 2},
                                                 {"w1w3", 2},
                                                 {"linearfc1", 2},
                                                 {"densehto4h", 2},
                                                 {"keyvalue", 2},
                                                 {"kvproj", 2},
                                                 {"wkv", 2},
                                                 {"swiglu", 2}}};

}  // namespace

std::uint64_t usual_parts(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = std::find_if(fused_names.begin(), fused_names.end(),
                                  [&](const FusedName& each) { return letters.find(each.part) != std::string::npos; });
  return found == fused_names.end() ? 0 : found->parts;
}

}  // namespace ckpt::drafting
