#include "processes/mpi/mpi_library.hpp"

#include <dlfcn.h>

#include <atomic>

#include "base/error.hpp"

namespace ckpt {

namespace {

constexpr const char* choice_variable = "CKPT_MPI";

std::atomic<bool> is_opened = false;

/// A library that has MPI's functions. It stays open: MPI cannot be started twice, so nobody needs another one.
struct MpiLibrary {
  bool is_open_mpi;
};

/// Global, because plug-ins of MPI look for its symbols, and tools that watch MPI (LD_PRELOAD) do, too.
void* opened(const std::string& name, std::string& failures) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  const char* failure = nullptr;
  if (library == nullptr)
    failure = ::dlerror();  // NOLINT(concurrency-mt-unsafe): before any thread is started
  else if (::dlsym(library, "MPI_Init_thread") == nullptr)
    failure = "no MPI library";
  else
    return library;
  const std::string reason = failure != nullptr ? failure : "it cannot be opened";
  failures += (failures.empty() ? "" : ", ") + (reason.starts_with(name) ? reason : name + ": " + reason);
  return nullptr;
}

MpiLibrary open_library() {
  std::string failures;
  for (const std::string& name : mpi_library_names(launch_environment()))
    if (void* const library = opened(name, failures)) {
      is_opened = true;
      return {::dlsym(library, "ompi_mpi_comm_world") != nullptr};
    }
  throw Error(Kind::io, "MPI",
              {"no library found (" + failures + ")",
               "that of the launcher that started this job",
               "load its module (LD_LIBRARY_PATH), or give the library: CKPT_MPI=/path/to/libmpi.so",
               {Advice::What::go_alone, "one process alone was meant"}});
}

const MpiLibrary& library() {
  static const MpiLibrary only = open_library();
  return only;
}

}  // namespace

std::vector<std::string> mpi_library_names(const LaunchEnvironment& environment) {
  std::vector<std::string> open_mpi{"libmpi.so.40"};                                      // from Open MPI 3 on
  std::vector<std::string> mpich{"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"};  // Intel's is the first
  const auto choice = environment.variable(choice_variable).value_or("");
  if (choice == "openmpi") return open_mpi;
  if (choice == "mpich") return mpich;
  if (!choice.empty()) {
    if (choice.find('/') == std::string::npos && choice.find(".so") == std::string::npos)
      throw Error(Kind::usage, choice_variable, {"'" + choice + "'", "openmpi, mpich or a library's path", ""});
    return {choice};
  }
  // MPICH's launcher speaks PMI, Cray's PALS. Open MPI's speaks PMIx, and so does Slurm's, for either.
  const bool has_pmi = environment.variable("PMI_SIZE") || environment.variable("PALS_RANKID");
  const bool is_mpich_first = has_pmi && !environment.variable("OMPI_COMM_WORLD_SIZE");
  std::vector<std::string> names = is_mpich_first ? mpich : open_mpi;
  for (const std::string& name : is_mpich_first ? open_mpi : mpich) names.push_back(name);
  return names;
}

bool is_open_mpi() {
  return library().is_open_mpi;
}

bool has_opened_mpi() noexcept {
  return is_opened;
}

/// Among all global symbols, where a tool's own version of a function comes first.
MpiSymbol::MpiSymbol(const char* name) : address_((library(), ::dlsym(RTLD_DEFAULT, name))) {
  if (address_ == nullptr)
    throw Error(Kind::io, "MPI",
                {"the library lacks " + std::string(name), "MPI 3.0 or newer",
                 "give another one: CKPT_MPI=/path/to/libmpi.so"});
}

}  // namespace ckpt
