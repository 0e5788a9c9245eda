// Any bytes are a journal: whole records are given back as they were noted, the rest is left out. And any text is some
// job's description: it is this job's or one error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "output/job_description.hpp"
#include "output/journal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto records = ckpt::parse_journal(std::as_bytes(std::span(data, size)));
  if (records.size() > size / 64) std::abort();
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    ckpt::check_same_job(text, R"({"version": "1", "files": {"rank_0.h5": [1, 2]}})", "fuzz.partial");
  } catch (const ckpt::Error&) {
    return 0;
  }
  return 0;
}
