#include "processes/same_build.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/build_id.hpp"
#include "base/error.hpp"

namespace ckpt {

void check_same_build(Communicator& processes) {
  if (processes.size() == 1) return;
  const std::string build = build_id();
  const std::vector<std::string> versions =
      processes.all_gather(CKPT_VERSION + (build.empty() ? "" : " (build " + build + ")"));
  const auto other = std::ranges::find_if(versions, [&](const std::string& each) { return each != versions.front(); });
  if (other == versions.end()) return;
  processes.set_failed_together(true);
  throw Error(Kind::usage, processes.name_of(static_cast<int>(other - versions.begin())),
              {"version " + *other, versions.front() + ", as " + processes.name_of(0) + " has",
               "install the same program on all hosts"});
}

}  // namespace ckpt
