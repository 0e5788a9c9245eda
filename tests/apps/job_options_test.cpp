#include "common/job_options.hpp"

#include "catch.hpp"
#include "fixtures.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

Job job_of(const Options& options, const Environment& environment = {}, Verb verb = Verb::reshard) {
  return job_from(program(verb), options, environment);
}

std::string refusal(const Options& options, const Environment& environment = {}) {
  const auto error = caught([&] { job_of(options, environment); });
  CHECK(error.kind == Kind::usage);
  return error.message;
}

}  // namespace

TEST_CASE("a job has the documented defaults") {
  const auto job = job_of({});
  CHECK(job.exchange == ExchangeKind::automatic);
  CHECK(job.memory_bytes == 512ULL << 20);
  CHECK(job.threads == 0);
  CHECK(job.replicas == ReplicaCheck::sample);
  CHECK(job.fsync);
  CHECK_FALSE(job.dry_run);
  CHECK_FALSE(job.force);
  CHECK_FALSE(job.target.single_file);
  CHECK(job_of({}, {}, Verb::merge).target.single_file);
}

TEST_CASE("options become a job's values") {
  Options options;
  options.source = "s";
  options.output = "d";
  options.to_mesh = "dp=7,tp=8";
  options.only = {"w*"};
  options.drop = {"m*", "v*"};
  options.rename = {"model.{x}={x}"};
  options.exchange = "direct";
  options.memory = "1MiB";
  options.threads = "4096";
  options.replicas = "trust";
  options.dry_run = options.force = options.no_fsync = true;
  const auto job = job_of(options);
  CHECK(job.source == "s");
  CHECK(job.output == "d");
  CHECK(job.target.mesh == std::map<std::string, std::uint64_t>{{"dp", 7}, {"tp", 8}});
  CHECK(job.only.size() == 1);
  CHECK(job.drop.size() == 2);
  REQUIRE(job.rename.size() == 1);
  CHECK(job.rename[0].stored.text() == "model.{x}");
  CHECK(job.rename[0].name.text() == "{x}");
  CHECK(job.exchange == ExchangeKind::direct);
  CHECK(job.memory_bytes == 1ULL << 20);
  CHECK(job.threads == 4096);
  CHECK(job.replicas == ReplicaCheck::trust);
  CHECK(job.dry_run);
  CHECK(job.force);
  CHECK_FALSE(job.fsync);
}

TEST_CASE("an environment variable stands in for an option that is not given") {
  const Environment environment{{"CKPT_MEMORY", "2MiB"}, {"CKPT_THREADS", "5"}, {"CKPT_EXCHANGE", "mpi"}};
  CHECK(job_of({}, environment).memory_bytes == 2ULL << 20);
  CHECK(job_of({}, environment).threads == 5);
  CHECK(job_of({}, environment).exchange == ExchangeKind::mpi);
  Options options;
  options.memory = "3MiB";
  options.threads = "6";
  options.exchange = "auto";
  CHECK(job_of(options, environment).memory_bytes == 3ULL << 20);
  CHECK(job_of(options, environment).threads == 6);
  CHECK(job_of(options, environment).exchange == ExchangeKind::automatic);
}

TEST_CASE("a bad value names the option or the variable that holds it") {
  Options options;
  options.memory = "lots";
  CHECK_THAT(refusal(options), Contains("--memory: 'lots' is not a size"));
  options.memory = "1023KiB";
  CHECK_THAT(refusal(options), Contains("--memory: '1023KiB', expected at least 1MiB"));
  CHECK_THAT(refusal({}, {{"CKPT_MEMORY", "lots"}}), Contains("environment variable CKPT_MEMORY: 'lots'"));
  CHECK_THAT(refusal({}, {{"CKPT_THREADS", "0"}}), Contains("environment variable CKPT_THREADS: '0'"));
  CHECK_THAT(refusal({}, {{"CKPT_EXCHANGE", "ucx"}}), Contains("environment variable CKPT_EXCHANGE: 'ucx'"));
  options = {};
  options.exchange = "ucx";
  CHECK_THAT(refusal(options), Contains("--exchange: 'ucx', expected one of auto, direct, mpi, nccl"));
  options = {};
  options.replicas = "some";
  CHECK_THAT(refusal(options), Contains("--replicas: 'some', expected one of trust, sample, full"));
  for (const char* count : {"0", "-1", "4097", "2x", "99999999999999999999"}) {
    options = {};
    options.threads = count;
    CHECK_THAT(refusal(options), Contains("--threads: '" + std::string(count) + "', expected a whole number"));
  }
}

TEST_CASE("nccl has a share of the GPU's memory, and patience") {
  const Job usual = job_of({});
  CHECK(usual.device_memory_bytes == 2ULL << 30);
  CHECK(usual.stall_limit.count() == 120);
  Options options;
  options.exchange = "nccl";
  options.device_memory = "3GiB";
  options.stall_timeout = "7";
  const Job job = job_of(options);
  CHECK(job.exchange == ExchangeKind::nccl);
  CHECK(job.device_memory_bytes == 3ULL << 30);
  CHECK(job.stall_limit.count() == 7);
  CHECK(job_of({}, {{"CKPT_DEVICE_MEMORY", "1GiB"}}).device_memory_bytes == 1ULL << 30);
  CHECK(job_of({}, {{"CKPT_STALL_TIMEOUT", "5"}}).stall_limit.count() == 5);
  options.stall_timeout = "0";
  CHECK_THAT(refusal(options), Contains("--stall-timeout: '0', expected a whole number"));
}

TEST_CASE("option --cards and --to-mesh refuse what is no mesh") {
  Options options;
  options.cards = "0";
  CHECK_THAT(refusal(options), Contains("--cards: '0'"));
  options.cards = "18446744073709551616";
  CHECK_THAT(refusal(options), Contains("--cards: '18446744073709551616'"));
  for (const char* text : {"dp", "=7", "dp=7,", ",dp=7", "dp=", "dp=0", "dp=-1", "dp=7,dp=8", "dp=7=8"}) {
    options = {};
    options.to_mesh = text;
    CHECK_THAT(refusal(options), Contains("--to-mesh"));
  }
}

TEST_CASE("option --rename needs both sides, and NEW only what OLD captures") {
  CHECK(parse_rename("a=b").name.text() == "b");
  CHECK(parse_rename("*.{x}=w.{x}").stored.text() == "*.{x}");
  for (const char* text : {"a", "=b", "a=", "{x}=*", "{x}={y}"}) {
    const auto error = caught([&] { parse_rename(text); });
    CHECK(error.kind == Kind::usage);
    CHECK_THAT(error.message, Contains("--rename '" + std::string(text) + "'"));
  }
}

TEST_CASE("a glob that is not well formed names its option") {
  Options options;
  options.only = {"a[b"};
  const auto error = caught([&] { job_of(options); });
  CHECK_THAT(error.message, Contains("--only 'a[b': "));
}
