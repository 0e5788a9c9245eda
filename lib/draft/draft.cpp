#include "draft/draft.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "draft/decide.hpp"
#include "draft/file_names.hpp"
#include "draft/mesh_factors.hpp"
#include "draft/numbering.hpp"
#include "draft/proof.hpp"
#include "draft/questions.hpp"
#include "draft/renames.hpp"
#include "draft/rules.hpp"
#include "draft/stored_files.hpp"
#include "layout/name_groups.hpp"
#include "layout/naming.hpp"

namespace ckpt::drafting {

namespace {

class Drafter {
 public:
  Drafter(const DraftJob& job, SourceStore& store)
      : job_(job), store_(store), threads_(thread_count(job.resources, *solo())), most_open_(files_in_cache(threads_)) {}

  Draft draft() {
    for (const FileCatalog& catalog : job_.checkpoint.catalogs) draft_.bytes += catalog.bytes;
    const bool has_axes = arrange();
    Checkpoint checkpoint = opened();
    StoredFiles files(checkpoint, store_, most_open_);
    std::vector<NameFacts> facts = files.facts(threads_);
    if (!has_axes) find_mesh(facts);
    std::unique_ptr<ReferenceTensors> whole;
    if (job_.reference != nullptr) {
      whole = std::make_unique<ReferenceTensors>(*job_.reference, store_, most_open_);
      rename(facts);
    }
    decide_all(facts, files, whole.get());
    draft_.bytes_read += files.bytes_read() + (whole ? whole->bytes_read() : 0);
    draft_.layout.parameters = write();
    prove();
    return std::move(draft_);
  }

 private:
  /// Says which files the cards have. Gives whether the axes are known.
  bool arrange() {
    const UnknownCheckpoint& source = job_.checkpoint;
    draft_.layout.origin = "the draft";
    if (source.is_single_file) {
      draft_.layout = single_card();
      return true;
    }
    FileNames names = read_file_names(source.names, job_.mesh);
    draft_.layout.mesh = std::move(names.mesh);
    draft_.layout.files = CardFiles({{FileTemplate(names.files, draft_.layout.mesh), ""}});
    return job_.mesh || draft_.layout.mesh.axes != std::vector<std::string>{"card"};
  }

  /// The checkpoint as the layout has it.
  Checkpoint opened() const {
    const UnknownCheckpoint& source = job_.checkpoint;
    std::map<std::string, FileCatalog> by_name;
    for (std::size_t i = 0; i < source.names.size(); ++i) by_name[source.names[i]] = source.catalogs[i];
    std::vector<std::optional<FileCatalog>> catalogs;
    if (source.is_single_file)
      catalogs.emplace_back(source.catalogs.front());
    else
      for (const std::string& path : draft_.layout.files.paths(draft_.layout.mesh)) {
        const auto found = by_name.find(path);
        if (found == by_name.end())
          throw Error(Kind::input, path, {"no such file", "the names of the others ask for it", "is the checkpoint complete?"});
        catalogs.emplace_back(found->second);
      }
    return Checkpoint::of(source.path, source.is_single_file, draft_.layout, std::move(catalogs));
  }

  /// Looks for axes in which cards are equal.
  void find_mesh(const std::vector<NameFacts>& facts) {
    std::vector<std::vector<std::uint32_t>> classes;
    for (const NameFacts& fact : facts)
      if (!fact.is_constant) classes.push_back(classes_of(fact));
    auto mesh = mesh_of_classes(classes);
    if (!mesh) return;
    mesh->cards = draft_.layout.mesh.cards;
    const std::string path = draft_.layout.files.entries().front().path.text();
    draft_.layout.mesh = *std::move(mesh);
    draft_.layout.files = CardFiles({{FileTemplate(path, draft_.layout.mesh), ""}});
    draft_.notes.push_back("which cards hold the same proves the mesh " + format_list(draft_.layout.mesh.shape) +
                           ": rename its axes as you like");
  }

  void rename(std::vector<NameFacts>& facts) {
    std::vector<std::string> stored;
    std::vector<std::string> expected;
    for (const NameFacts& fact : facts) stored.push_back(fact.stored);
    for (const Tensor& tensor : job_.reference->tensors()) expected.push_back(tensor.name);
    draft_.layout.rename = find_renames(stored, expected);
    const Naming naming(draft_.layout);
    for (NameFacts& fact : facts) fact.name = naming.renamed(fact.stored);
  }

  void decide_all(std::vector<NameFacts>& facts, CardData& cards, WholeTensors* whole) {
    draft_.open = number_names(draft_.layout, facts, cards, whole);
    std::erase_if(facts, [&](const NameFacts& fact) { return draft_.open.contains(fact.name); });
    Questions questions = ask(draft_.layout, facts, whole);
    Decisions decisions = decide(draft_.layout, questions.all, cards, whole);
    draft_.open.merge(questions.open);
    draft_.open.merge(decisions.open);
    note_followers(decisions);
    const Naming naming(draft_.layout);
    for (const Question& question : questions.all) {
      const auto keys = decisions.keys.find(question.name);
      if (keys == decisions.keys.end()) continue;
      leave_implied(keys->second, naming.uncounted(question.name).at);
      decided_.push_back({question.name, keys->second, question.expected.value_or(question.first().shape)});
    }
    if (whole == nullptr) return;
    std::set<std::string> there;
    for (const Question& question : questions.all) there.insert(question.name);
    for (const Tensor& tensor : whole->tensors())
      if (!there.contains(tensor.name) && !draft_.open.contains(tensor.name)) missing_.push_back(tensor.name);
    for (const std::string& name : missing_)
      draft_.open[name] = {"no card stores it under this name", {"a member of \"buckets\"", "\"rename\""}, "where it is"};
  }

  /// What `indices` puts on some coordinates needs no `at` for them.
  static void leave_implied(Keys& keys, const At& implied) {
    if (!keys.at) return;
    for (const auto& [axis, coordinates] : implied) {
      keys.at->erase(axis);
      keys.at_last.erase(axis);
    }
    if (keys.at->empty()) keys.at.reset();
  }

  void note_followers(const Decisions& decisions) {
    std::vector<std::string> names;
    for (const auto& [name, leader] : decisions.followed) names.push_back(name);
    for (const std::string& group : describe_groups(group_names(names)))
      draft_.notes.push_back(group + ": taken to be cut as what it is named after, which its shapes allow but do not prove");
  }

  std::vector<Rule> write() const {
    std::vector<std::string> open;
    for (const auto& [name, why] : draft_.open) open.push_back(name);
    return write_rules(decided_, open, draft_.layout);
  }

  /// Removes rules that the whole of the data refutes.
  void prove() {
    if (decided_.empty()) return;
    std::set<std::string> taken;
    for (const Decided& decided : decided_) taken.insert(decided.name);
    const Checkpoint checkpoint = opened();
    const Refuted refuted =
        refute({checkpoint, job_.reference, [&](const std::string& name) { return taken.contains(name); }},
               job_.resources, store_, draft_.bytes_read);
    if (refuted.empty()) return;
    for (const auto& [name, why] : refuted)
      draft_.open[name] = {"what its samples say is not so for the whole: " + why, {}, "its rule"};
    std::erase_if(decided_, [&](const Decided& decided) { return refuted.contains(decided.name); });
    draft_.layout.parameters = write();
  }

  const DraftJob& job_;
  SourceStore& store_;
  unsigned threads_;
  std::size_t most_open_;
  Draft draft_;
  std::vector<Decided> decided_;
  std::vector<std::string> missing_;
};

}  // namespace

Draft make_draft(const DraftJob& job, SourceStore& store) {
  return Drafter(job, store).draft();
}

}  // namespace ckpt::drafting
