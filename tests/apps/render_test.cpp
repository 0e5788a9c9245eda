#include "report/render.hpp"

#include "catch.hpp"
#include "fixtures.hpp"

using namespace ckpt;
using namespace ckpt::cli;

TEST_CASE("numbers are written for people") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(18446744073709551615ULL) == "18,446,744,073,709,551,615");
  CHECK(counted(1, "file") == "1 file");
  CHECK(counted(2, "file") == "2 files");
  CHECK(counted(2, "process") == "2 processes");
}

TEST_CASE("the dry-run table is plain text with one fact on each line") {
  Report report;
  report.exchange = "direct";
  report.processes = 4;
  report.threads = 2;
  report.source_cards = report.source_files = 64;
  report.target_cards = report.target_files = 56;
  report.parameters = 1480;
  report.tensor_bytes = 1536;
  report.bytes_to_read = 2048;
  report.bytes_to_write = 3072;
  report.bytes_changing_card = 12;
  report.busiest_process = 3;
  report.busiest_process_bytes = 1024;
  report.staging_bytes = 8ULL << 20;
  report.peak_bytes = 9ULL << 20;
  CHECK(dry_run_table(report).text() ==
        "source cards            64\n"
        "source files            64\n"
        "target cards            56\n"
        "target files            56\n"
        "parameters              1,480\n"
        "tensor bytes            1,536 (1.5 KiB)\n"
        "bytes to read           2,048 (2.0 KiB)\n"
        "bytes to write          3,072 (3.0 KiB)\n"
        "bytes that change card  12\n"
        "exchange                direct\n"
        "processes               4\n"
        "threads                 2 in each process\n"
        "busiest process         3: 1,024 (1.0 KiB)\n"
        "staging memory          8,388,608 (8.0 MiB) in each process\n"
        "peak memory             9,437,184 (9.0 MiB) in each process, about\n"
        "no data was read        what bytes can show of a wrong layout, the job itself checks\n");
}

TEST_CASE("rules are listed with their parameters as people count") {
  CHECK(rule_table("rules", "job.json", {{"*.w", {"l.10.w", "l.2.w"}, "/parameters/0"}, {"(default)", {}}}).text() ==
        "\nrules, job.json\n"
        "  /parameters/0 *.w: 2 parameters\n"
        "    l.2.w\n"
        "    l.10.w\n"
        "  (default): 0 parameters\n");
}

TEST_CASE("the summary tells what, how much and how fast") {
  Report report;
  report.target_files = 56;
  report.bytes_written = 2'000'000'000;
  CHECK(summary("out", report) == "wrote out: 56 files, 1.9 GiB in 0.0 s");
  report.seconds["total"] = 0.9;  // most of it is no data
  CHECK(summary("out", report) == "wrote out: 56 files, 1.9 GiB in 0.9 s");
  report.seconds["total"] = 1.6;
  CHECK(summary("out", report) == "wrote out: 56 files, 1.9 GiB in 1.6 s (1.25 GB/s)");
}
