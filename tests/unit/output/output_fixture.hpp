#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "output/output.hpp"
#include "store/hdf5/hdf5_store.hpp"
#include "temporary_directory.hpp"

namespace ckpt::fixture {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

/// As much of a job as an output is asked about.
struct WrittenJob {
  fs::path source;
  OutputPlace output;
  std::vector<fs::path> spared_files;
};

class Place {
 public:
  Place() {
    fs::create_directory(source());
    write_text(source() / "rank_0.h5", "source");
  }
  fs::path source() const { return directory_ / "source"; }
  fs::path path(const std::string& name) const { return directory_ / name; }
  /// What there is, sorted.
  Names names() const {
    Names names;
    for (const auto& entry : fs::directory_iterator(directory_ / "")) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  WrittenJob job(const fs::path& output) const { return {source(), {output}, {}}; }
  WrittenJob job() const { return job(path("out")); }

 private:
  TemporaryDirectory directory_;
};

inline constexpr const char* hdf5 = "\211HDF\r\n\032\n, and then something";
inline constexpr const char* two_cards =
    R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2]}, "default": "replicate"})";

/// An output of two files, planned and claimed.
class Claimed {
 public:
  explicit Claimed(const WrittenJob& job, const char* layout = two_cards) : store_(hdf5_store()), output_(job.output) {
    output_.check_source(job.source);
    output_.check_sources(job.spared_files);
    output_.check_free();
    output_.check_replaceable(parse_layout(layout, "two"), {}, *store_);
    output_.claim();
  }
  Output* operator->() { return &output_; }

 private:
  std::unique_ptr<Store> store_;
  Output output_;
};

template <class Work>
std::optional<Error> error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

inline std::optional<Error> refusal_of(const WrittenJob& job) {
  return error_of([&] { Claimed output(job); });
}

inline WrittenJob forced(WrittenJob job) {
  job.output.force = true;
  return job;
}

inline WrittenJob single(WrittenJob job) {
  job.output.is_single_file = true;
  return job;
}

}  // namespace ckpt::fixture
