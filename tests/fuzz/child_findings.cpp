// HDF5's metadata code runs in child processes of the store. What goes wrong there in HDF5 is what they are for; what
// goes wrong in our own code must reach libFuzzer all the same, and so must the children's coverage.

#include "child_findings.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CKPT_FUZZ_CHILDREN
#endif
#endif

#ifdef CKPT_FUZZ_CHILDREN

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "sandbox/helper_process.hpp"

extern "C" {
void* __asan_get_report_pc();
extern std::uint8_t __start___sancov_cntrs __attribute__((visibility("hidden"), weak));
extern std::uint8_t __stop___sancov_cntrs __attribute__((visibility("hidden"), weak));
}

namespace {

pid_t fuzzer = 0;
std::atomic<bool>* finding = nullptr;  // in memory shared with the children

void* share(void* place, std::size_t bytes) {
  void* shared = ::mmap(place, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | (place == nullptr ? 0 : MAP_FIXED), -1, 0);
  if (shared == MAP_FAILED) std::abort();
  return shared;
}

/// The whole pages of the counters: what else stands in the first and the last is not ours to share.
void share_counters() {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = (reinterpret_cast<std::uintptr_t>(&__start___sancov_cntrs) + page - 1) / page * page;
  const auto stop = reinterpret_cast<std::uintptr_t>(&__stop___sancov_cntrs) / page * page;
  if (start >= stop) return;
  auto* place = reinterpret_cast<std::uint8_t*>(start);
  const std::vector<std::uint8_t> before(place, place + (stop - start));
  share(place, before.size());
  std::memcpy(place, before.data(), before.size());
}

/// HDF5 is not instrumented: its errors are found in the functions that the sanitizer puts before the C library's. Ours
/// are found in code that has no symbol to be seen, or in __asan_memcpy and its like.
bool is_in_own_code() {
  Dl_info info{};
  if (::dladdr(__asan_get_report_pc(), &info) == 0 || info.dli_sname == nullptr)
    return __asan_get_report_pc() != nullptr;
  return std::strncmp(info.dli_sname, "__asan_", 7) == 0;
}

}  // namespace

extern "C" {

/// HDF5 asks for what a file declares: such an allocation fails, as it does in a child without sanitizers.
const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

void __asan_on_error() {
  if (fuzzer == 0 || ::getpid() == fuzzer) return;
  if (!is_in_own_code()) ::_exit(EXIT_FAILURE);
  finding->store(true);
}

void __ubsan_on_report() {
  if (fuzzer != 0 && ::getpid() != fuzzer) finding->store(true);
}

int LLVMFuzzerInitialize(int*, char***) {
  fuzzer = ::getpid();
  finding = new (share(nullptr, sizeof *finding)) std::atomic<bool>(false);
  share_counters();
  static const ckpt::HelperProcess reads_metadata;  // before libFuzzer has threads
  return 0;
}

}  // extern "C"

bool has_finding_in_child() {
  return finding != nullptr && finding->load();
}

#else

bool has_finding_in_child() {
  return false;
}

#endif
