#include "jobs/compare_elements.hpp"

#include <algorithm>

#include "checkpoint/source_reader.hpp"
#include "compare/compare_workload.hpp"
#include "diagnosis/check_source.hpp"
#include "diagnosis/one_step.hpp"
#include "exchange/exchange.hpp"
#include "jobs/types/memory_shares.hpp"
#include "jobs/types/resources.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// Compares A's bytes with B's on all processes.
class Elements {
 public:
  Elements(const CompareJob& job, const Pairing& pairing, const MisfitSource& misfit_of_a, SourceStore& store,
           Communicator& processes)
      : job_(job),
        pairing_(pairing),
        misfit_of_a_(misfit_of_a),
        store_(store),
        a_(pairing.a()),
        b_(pairing.b()),
        most_open_(open_files_allowed(job.resources, processes)),
        processes_(processes),
        threads_(thread_count(job.resources, processes)) {}

  std::map<ParameterId, Mismatch> compare(Counters& counters) {
    const ExchangeKind kind = choose_exchange(job_.resources.exchange, a_.files.is_shared(), processes_);
    const bool is_direct = kind == ExchangeKind::direct;
    const auto process = static_cast<std::uint32_t>(processes_.rank());
    const auto process_count = static_cast<std::uint32_t>(processes_.size());
    const Owners owners = a_.files.owners(process_count);
    const Readers readers(a_.placement(), is_direct ? Owners{} : owners, job_.replicas == ReplicaCheck::full);
    const Planner planner(a_.placement(), b_.placement(), pairing_.a_of(), readers);
    // One third each for mapped parts of A, for staging, and for B's data.
    MemoryShares shares;
    agree(processes_, [&] { shares = share_memory(job_.resources.memory_bytes, 3, largest_chunk_read()); });
    set_decoding_memory(store_, shares.chunks);
    SourceReader reader(a_.files, a_.placement(), store_, shares.windows, most_open_);

    counters.phase = Phase::replicas;
    const auto exchange = make_exchange(kind, job_.resources, shares.rest / 2, threads_, processes_);
    explain_misfit(misfit_of_a_, processes_, [&] { check_a(readers, reader, *exchange); });
    counters.phase = Phase::compare;
    ComparedPair pair{planner, readers,          reader,    b_.files, store_, pairing_.parameters(),
                      {},      {job_.tolerance}, most_open_};
    const Owners b_owners = b_.files.owners(process_count);
    for (Position card = 0; card < b_owners.size(); ++card)
      if (b_owners[card] == process) pair.cards.push_back(card);
    CompareWorkload work(pair, exchange->chunk_bytes(), shares.order(), process, counters);
    agree(processes_, [&] { read_past_memory(pair, *exchange, shares.rest / 2, reader, work); });
    exchange->run(work);
    agree(processes_, [&] {
      for (const FileNumber file : a_.files.own_files(process, process_count)) a_.files.check_unchanged(store_, file);
      for (const Position card : pair.cards)
        for (const FileNumber file : b_.files.table().owned_by(card))
          if (b_.files.is_there(file)) b_.files.check_unchanged(store_, file);
    });
    warn_of_repeats(job_.resources.memory_bytes, decoding_of(store_), processes_);
    return add_up(work.found());
  }

 private:
  /// Checks A's bytes against its layout, before comparing them with B's.
  void check_a(const Readers& readers, SourceReader& reader, Exchange& exchange) const {
    std::vector<Equality> equal = a_.placement().equalities();
    std::erase_if(equal, [&](const Equality& pair) {
      return !pairing_.is_chosen()[pair.parameter] || !pairing_.is_chosen()[pair.other];
    });
    const Owners owners =
        a_.files.is_shared() ? Owners{} : a_.files.owners(static_cast<std::uint32_t>(processes_.size()));
    if (job_.replicas != ReplicaCheck::trust) agree(processes_, [&] { check_one_step(a_.files); });
    const std::vector<bool> held_against = without_tables(pairing_.is_chosen(), a_.placement());
    check_source({{a_.files, a_.placement(), reader, owners, held_against, job_.replicas, threads_},
                  readers,
                  store_,
                  std::move(equal),
                  most_open_},
                 exchange, processes_);
  }

  /// Uses direct I/O for data that is not in the page cache: for A with the memory of `share` that the exchange leaves,
  /// for B with what B's chunks leave. Not for A if several processes of a node read the same files.
  void read_past_memory(const ComparedPair& pair, const Exchange& exchange, std::uint64_t share, SourceReader& of_a,
                        CompareWorkload& work) const {
    if (!exchange.reads_ahead()) return;
    const auto left = [&](std::uint64_t bytes) { return share - std::min(share, bytes); };
    if (!pair.readers.is_shared() || processes_.local_size() == 1)
      of_a.read_past_memory(left(exchange.staging_bytes()),
                            files_read_by(static_cast<std::uint32_t>(processes_.rank()), a_.files, pair.readers));
    std::vector<FileNumber> of_b;
    for (const Position card : pair.cards)
      for (const FileNumber file : b_.files.table().owned_by(card))
        if (b_.files.is_there(file)) of_b.push_back(file);
    work.files().read_past_memory(left(threads_ * exchange.chunk_bytes()), of_b);
  }

  /// The largest chunk on either side.
  LargestChunk largest_chunk_read() const {
    std::vector<bool> of_a(a_.placement().arrays().size(), false);
    std::vector<bool> of_b(b_.placement().arrays().size(), false);
    for (const ParameterId parameter : pairing_.parameters()) {
      of_b[b_.placement().array_of(parameter)] = true;
      of_a[a_.placement().array_of(pairing_.a_of()[parameter])] = true;
    }
    const LargestChunk a = largest_chunk(a_.files, a_.placement(), [&](ArrayId array) { return of_a[array]; });
    const LargestChunk b = largest_chunk(b_.files, b_.placement(), [&](ArrayId array) { return of_b[array]; });
    LargestChunk larger = b.decoding_bytes > a.decoding_bytes ? b : a;
    larger.value_bytes = a.value_bytes + b.value_bytes;
    return larger;
  }

  std::map<ParameterId, Mismatch> add_up(const std::map<ParameterId, Mismatch>& mine) {
    std::map<ParameterId, Mismatch> all;
    for (const auto& theirs : gather_all(mine, processes_))
      for (const auto& [parameter, mismatch] : theirs) all[parameter].add(mismatch);
    return all;
  }

  const CompareJob& job_;
  const Pairing& pairing_;
  const MisfitSource& misfit_of_a_;
  SourceStore& store_;
  const ComparedSide& a_;
  const ComparedSide& b_;
  std::size_t most_open_;
  Communicator& processes_;
  unsigned threads_;
};

}  // namespace

std::map<ParameterId, Mismatch> compare_elements(const CompareJob& job, const Pairing& pairing,
                                                 const MisfitSource& misfit_of_a, SourceStore& store,
                                                 Communicator& processes, Counters& counters) {
  return Elements(job, pairing, misfit_of_a, store, processes).compare(counters);
}

}  // namespace ckpt
