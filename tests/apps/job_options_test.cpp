#include "cli/job_options.hpp"

#include "catch.hpp"
#include "fixtures.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

ReshardJob job_of(const Options& options, const Environment& environment = {}, Verb verb = Verb::reshard) {
  return reshard_job(program(verb), options, environment);
}

std::string refusal(const Options& options, const Environment& environment = {}) {
  const auto error = caught([&] { job_of(options, environment); });
  CHECK(error.kind == Kind::usage);
  return error.message;
}

}  // namespace

TEST_CASE("a job has the documented defaults") {
  const auto job = job_of({});
  CHECK(job.resources.exchange == ExchangeKind::automatic);
  CHECK(job.resources.memory_bytes == 512ULL << 20);
  CHECK(job.resources.threads == 0);
  CHECK(job.replicas == ReplicaCheck::sample);
  CHECK(job.output.fsync);
  CHECK(job.output.direct_io == DirectIo::automatic);
  CHECK_FALSE(job.dry_run);
  CHECK_FALSE(job.output.force);
  CHECK_FALSE(job.output.is_single_file);
  CHECK(job_of({}, {}, Verb::merge).output.is_single_file);
  CHECK(job_of({}, {}, Verb::merge).target.layout->mesh.size() == 1);
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
  options.direct_io = "on";
  const auto job = job_of(options);
  CHECK(job.source.path == "s");
  CHECK(job.output.path == "d");
  CHECK(job.target.mesh == std::map<std::string, std::uint64_t>{{"dp", 7}, {"tp", 8}});
  CHECK(job.names.only.size() == 1);
  CHECK(job.names.drop.size() == 2);
  REQUIRE(job.names.rename.size() == 1);
  CHECK(job.names.rename[0].stored.text() == "model.{x}");
  CHECK(job.names.rename[0].name.text() == "{x}");
  CHECK(job.resources.exchange == ExchangeKind::direct);
  CHECK(job.resources.memory_bytes == 1ULL << 20);
  CHECK(job.resources.threads == 4096);
  CHECK(job.replicas == ReplicaCheck::trust);
  CHECK(job.dry_run);
  CHECK(job.output.force);
  CHECK_FALSE(job.output.fsync);
  CHECK(job.output.direct_io == DirectIo::on);
}

TEST_CASE("what is averaged has a weight, a path and perhaps a layout") {
  Options options;
  options.average = {"1/3=dir/a", "-2e-3=b:c:l.json", "0=d:"};
  const auto job = job_of(options);
  REQUIRE(job.average.size() == 3);
  CHECK((job.average[0].weight == 1.0 / 3 && job.average[0].place.path == "dir/a" && job.average[0].layout.empty()));
  CHECK((job.average[1].weight == -2e-3 && job.average[1].place.path == "b:c" && job.average[1].layout == "l.json"));
  CHECK((job.average[2].weight == 0 && job.average[2].place.path == "d"));
  CHECK(job.source.path == "dir/a");
  for (const char* const word : {"a", "=a", "x=a", "1=", "1/0=a", "1e-200=a", "inf=a", "1=:l", "0x1=a", "1 =a"}) {
    options.average = {word};
    CHECK_THAT(refusal(options), Contains("--average"));
  }
}

TEST_CASE("an environment variable stands in for an option that is not given") {
  const Environment environment{{"CKPT_MEMORY", "2MiB"}, {"CKPT_THREADS", "5"}, {"CKPT_EXCHANGE", "mpi"}};
  CHECK(job_of({}, environment).resources.memory_bytes == 2ULL << 20);
  CHECK(job_of({}, environment).resources.threads == 5);
  CHECK(job_of({}, environment).resources.exchange == ExchangeKind::mpi);
  Options options;
  options.memory = "3MiB";
  options.threads = "6";
  options.exchange = "auto";
  CHECK(job_of(options, environment).resources.memory_bytes == 3ULL << 20);
  CHECK(job_of(options, environment).resources.threads == 6);
  CHECK(job_of(options, environment).resources.exchange == ExchangeKind::automatic);
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
  const ReshardJob usual = job_of({});
  CHECK(usual.resources.device_memory_bytes == 2ULL << 30);
  CHECK(usual.resources.stall_limit.count() == 120);
  CHECK(usual.resources.patience == Communicator::default_patience);
  Options options;
  options.exchange = "nccl";
  options.device_memory = "3GiB";
  options.stall_timeout = "7s";
  const ReshardJob job = job_of(options);
  CHECK(job.resources.exchange == ExchangeKind::nccl);
  CHECK(job.resources.device_memory_bytes == 3ULL << 30);
  CHECK(job.resources.stall_limit.count() == 7);
  CHECK(job.resources.patience.count() == 7);
  CHECK(job_of({}, {{"CKPT_DEVICE_MEMORY", "1GiB"}}).resources.device_memory_bytes == 1ULL << 30);
  CHECK(job_of({}, {{"CKPT_STALL_TIMEOUT", "5"}}).resources.stall_limit.count() == 5);
  options.stall_timeout = "0";
  CHECK_THAT(refusal(options), Contains("--stall-timeout: '0', expected from 1 s to 24 h"));
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
