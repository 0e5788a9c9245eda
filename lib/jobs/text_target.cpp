#include "jobs/text_target.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/parallel.hpp"
#include "keyed/row_sums.hpp"
#include "layout/paddle_tables.hpp"
#include "processes/gather_all.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

void check_text_target(const ReshardJob& job) {
  const auto refuse = [](const char* object, const char* remedy) {
    throw Error(
        Kind::usage, object,
        {"the output's tables are Paddle's text", "which is written to a directory, whole rows as they are", remedy});
  };
  if (job.output.is_single_file || job.output.is_pipe) refuse("the output", "write to a directory");
  if (!job.format.empty()) refuse("--format", "leave it out");
  if (job.is_view) refuse("--virtual", "leave it out");
  if (job.has_checksums) refuse("--crc", "leave it out");
  if (job.keeps_trees) refuse("--leaves", "leave it out");
  if (!job.casts.empty()) refuse("--cast", "leave it out");
  if (!job.names.rename.empty()) refuse("--rename", "give the table its name in the layout");
  if (!job.keeps.empty()) refuse("--keep", "choose rows where the table becomes datasets");
  if (!job.deltas.empty()) refuse("--delta", "put deltas on where the table becomes datasets");
  if (job.expectation) refuse("what the output is expected to be", "leave it out");
  if (job.resources.exchange != ExchangeKind::automatic && job.resources.exchange != ExchangeKind::direct)
    refuse("--exchange", "every process reads what it writes: leave it out");
}

TextTarget::TextTarget(const ReshardJob& job, const Layout& layout, Communicator& processes)
    : job_(job), layout_(layout), processes_(processes) {
  agree(processes_, [&] {
    check_text_target(job_);
    if (job_.dry_run && job_.output.path.empty()) return;
    output_.emplace(job_.output);
    output_->check_source(job_.source.path);
    output_->check_sources(job_.spared_files);
    output_->check_free();
  });
}

void TextTarget::check_sources(const std::vector<std::filesystem::path>& files) const {
  if (output_) output_->check_sources(files);
}

std::vector<std::filesystem::path> TextTarget::files(const KeyedTable& table) const {
  std::vector<std::filesystem::path> files;
  if (!is_written()) return files;
  for (const std::string& path : shard_paths(table, servers())) files.push_back(output_->file(path));
  return files;
}

void TextTarget::begin(Stores& stores) {
  std::string token;
  agree(processes_, [&] {
    if (!output_ || processes_.rank() != 0) return;
    output_->plan(layout_, {}, stores.named("hdf5"));
    if (!is_written()) return;
    output_->claim();
    token = output_->token();
    if (job_.output.resume) spdlog::warn("there is nothing to go on with: jobs on files of text write all anew");
    nlohmann::json job;
    job["ckpt_journal"] = 1;
    job["to"] = nlohmann::json::parse(to_json(layout_));
    output_->begin(job.dump(), false);
    for (const KeyedTable& table : layout_.tables)
      std::filesystem::create_directories(output_->file(table.text->directory));
  });
  token = processes_.broadcast(token, 0);
  agree(processes_, [&] {
    if (!is_written()) return;
    if (processes_.rank() != 0) output_->join(token);
    output_->check_held();
  });
}

void TextTarget::add(const KeyedTable& table, const std::vector<MovedShard>& mine, Report& report) {
  std::vector<ShardMessage> told;
  Table& added = tables_.emplace_back(Table{&table, {}, {}, servers_of_shards(table, servers())});
  for (const MovedShard& shard : mine) {
    told.push_back({shard.shard, shard.written.bytes, shard.written.lines, shard.written.content});
    added.own.push_back(shard.shard);
  }
  for (const auto& of_process : gather_all(told, processes_))
    added.shards.insert(added.shards.end(), of_process.begin(), of_process.end());
  std::sort(added.shards.begin(), added.shards.end(), [](const auto& a, const auto& b) { return a.shard < b.shard; });
  Report::TableUse& use = report.tables.emplace_back();
  use.name = table.name.text();
  use.is_text = true;
  use.rows.resize(servers());
  for (const ShardMessage& shard : added.shards) {
    use.rows[added.servers[shard.shard]] += shard.lines.bytes;
    if (is_written() || !table.text->is_gzip) report.bytes_to_write += shard.bytes;  // else nobody knows
  }
}

void TextTarget::reread(unsigned threads, std::size_t piece_bytes) {
  agree(processes_, [&] {
    for (const Table& table : tables_) {
      const std::vector<std::filesystem::path> paths = files(*table.said);
      for_each_in_parallel(threads, table.own.size(),
                           [&](std::uint64_t n) { reread(table, paths[table.own[n]], table.own[n], piece_bytes); });
    }
  });
}

void TextTarget::reread(const Table& table, const std::filesystem::path& path, std::uint64_t shard,
                        std::size_t piece_bytes) {
  const PosixFile file = PosixFile::open_for_writing(path);
  file.sync();
  file.drop_cached();
  const RowFields fields(table.said->text->accessor);
  if (!(sum_lines(path, fields, {shard, table.said->text->shards}, piece_bytes) == table.shards[shard].lines))
    throw Error(Kind::io, path.string(),
                {"its lines, read back, are not those that were written", "expected equal sums",
                 "nothing is published; is the storage in order?"});
}

ManifestTable TextTarget::summary(const Table& table) const {
  ManifestTable summary{table.said->name.text(), {"lines"}, std::vector<std::uint64_t>(servers()), {}, {}};
  std::vector<PartialSum> of_server(servers());
  PartialSum all;
  for (const ShardMessage& shard : table.shards) {
    summary.rows[table.servers[shard.shard]] += shard.lines.bytes;
    of_server[table.servers[shard.shard]] += shard.lines;
    all += shard.lines;
  }
  if (!is_verified()) return summary;
  summary.all.push_back(row_fingerprint(all));
  for (const PartialSum& sum : of_server) summary.servers.push_back({row_fingerprint(sum)});
  return summary;
}

std::string TextTarget::manifest_text() const {
  std::vector<ManifestFile> files;
  std::vector<ManifestTable> tables;
  for (const Table& table : tables_) {
    const auto paths = shard_paths(*table.said, servers());
    for (const ShardMessage& shard : table.shards)
      files.push_back({paths[shard.shard], layout_.mesh.card(table.servers[shard.shard]), shard.bytes,
                       is_verified() ? to_string(fingerprint(shard.content, paths[shard.shard])) : ""});
    tables.push_back(summary(table));
  }
  return manifest(layout_, files, tables);
}

void TextTarget::publish() {
  agree(processes_, [&] {
    check_interrupt();  // for the last time: nobody may fail beside the one that publishes
    output_->check_held();
    if (processes_.rank() != 0) output_->leave();
  });
  agree(processes_, [&] {
    if (processes_.rank() != 0) return;
    output_->write_text(manifest_name, manifest_text());
    output_->publish();
  });
}

void TextTarget::fail(Error& error) {
  if (output_) output_->fail(error);
}

}  // namespace ckpt
