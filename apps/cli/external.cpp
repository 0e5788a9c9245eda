#include "cli/external.hpp"

namespace ckpt::cli {

void declare_external(CommandLine& line, std::vector<std::string>& directories) {
  line.repeated("--allow-external", directories, "DIR",
                "where a file only shows data of others (--virtual, HDF5's virtual datasets): read it from below DIR, "
                "too, and not only from beside the checkpoint or below; may be repeated");
}

void allow_external(const std::vector<std::string>& directories, Stores& stores) {
  for (const std::string& directory : directories) let_show(stores.reading(), directory);
}

}  // namespace ckpt::cli
