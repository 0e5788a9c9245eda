#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/trace.hpp"
#include "report/result_file.hpp"

namespace ckpt::cli {

/// What one process has recorded.
struct ProcessTrace {
  std::string name;        ///< "process 1 (h2)"
  std::int64_t ahead = 0;  ///< its clock, of process 0's, in nanoseconds
  std::vector<trace::Row> rows;
};

/// Returns how many spans each thread may record, so that a trace has at most 65,536, or 16 for each thread.
std::size_t most_spans(int processes, unsigned threads);

/// Returns --trace's JSON, in the Trace Event Format of Chrome's viewer: a complete event ("X") for each span, in
/// microseconds since the first one began; `pid` is the process's number, `tid` its thread's, 0 the main one.
/// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
std::string trace_json(const std::string& program, const std::vector<ProcessTrace>& processes);

/// The kind of file that --trace writes.
const ResultKind& trace_kind();

}  // namespace ckpt::cli
