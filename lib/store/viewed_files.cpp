#include "store/viewed_files.hpp"

#include <algorithm>
#include <system_error>

#include "base/limits.hpp"
#include "io/posix_file.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// Limit on open viewed files: a part of the system's limit, which a job's caches do not count.
std::size_t most_shown_open() {
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(open_files().most / 16, 4, 256));
}

/// Returns a path with links resolved.
fs::path without_links(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  return error ? fs::absolute(path).lexically_normal() : real;
}

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

bool is_below(const fs::path& path, const fs::path& directory) {
  const auto [end, rest] = std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return end == directory.end();
}

[[noreturn]] void refuse_view(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "", {found, expected, "make the view anew, from the files that are there now"});
}

/// Returns the dataset that a view of an array shows, if it still matches the view; completes the view's shape.
const Dataset& shown_by(View& view, const StoredArray& array, const fs::path& shown, const Schema& schema) {
  const std::string name = shown.string() + ": /" + view.dataset;
  const std::size_t index = schema.find(view.dataset);
  if (index == schema.datasets.size())
    refuse_view("it shows " + name + ", which is not there", "the dataset that the view was made of");
  const StoredArray& theirs = (*schema.arrays)[index];
  if (theirs.refusal) throw Error(*theirs.refusal).within("it shows data of " + name);
  if (!(theirs.dtype == array.dtype))
    refuse_view("it shows " + name + ", of dtype " + theirs.dtype.name, "its own dtype, " + array.dtype.name);
  const Hyperslab said = std::move(view.theirs);
  view.theirs = said.stripes.empty() ? whole_hyperslab(theirs.shape) : Hyperslab{theirs.shape, said.stripes};
  if (theirs.verbatim || !is_valid(view.theirs) || numel(view.theirs) != numel(view.ours))
    refuse_view("it shows " + name + ", of shape " + to_string(theirs.shape),
                said.stripes.empty() ? "as many elements as it has of it" : "at least " + to_string(said.shape));
  if (schema.datasets[index].storage == Storage::views)
    throw Error(Kind::input, "",
                {"it shows " + name + ", which is a view itself", "a dataset with data of its own",
                 "make the view from the files that have the data"});
  return schema.datasets[index];
}

}  // namespace

ViewedFiles::ViewedFiles(Catalog catalog, Open open)
    : catalog_(std::move(catalog)), open_(std::move(open)), files_(most_shown_open(), [this](std::uint64_t number) {
        auto shown = std::make_shared<ShownFile>();
        shown->catalog = catalog_(paths_[number]);
        shown->file = open_(paths_[number], shown->catalog);
        return shown;
      }) {}

void ViewedFiles::let_show(const fs::path& directory) {
  const std::lock_guard lock(mutex_);
  trees_.push_back(without_links(directory));
}

bool ViewedFiles::may_show(const fs::path& file, const fs::path& shown) const {
  const fs::path real = without_links(shown);
  return is_below(real, without_links(directory_of(file))) ||
         std::any_of(trees_.begin(), trees_.end(), [&](const fs::path& tree) { return is_below(real, tree); });
}

/// Caches catalogs: the files of one checkpoint mostly show the same files.
FileCatalog ViewedFiles::catalog_of(const fs::path& shown) {
  const PosixFile::Status now = PosixFile::open_for_reading(shown).status();
  const auto known = known_.find(shown);
  if (known != known_.end() && known->second.bytes == now.bytes && known->second.modified_ns == now.modified_ns)
    return known->second;
  return known_[shown] = catalog_(shown);
}

FileCatalog ViewedFiles::found(const fs::path& file, const fs::path& shown, const ViewedFile& expected) {
  const std::string what = "it shows data of " + shown.string();
  if (!may_show(file, shown))
    throw Error(Kind::input, "",
                {what,
                 "a file in the same tree of directories",
                 "",
                 {Advice::What::allow_external, directory_of(without_links(shown)).string()}});
  std::error_code error;
  if (!fs::exists(shown, error))
    throw Error(
        Kind::input, "",
        {what + ", which is not there", "the file that the view was made of", "put it back, or make the view anew"});
  return with_context(what, [&] {
    FileCatalog catalog = catalog_of(shown);
    if (expected.bytes && *expected.bytes != catalog.bytes)
      throw Error(Kind::input, "",
                  {"which has " + std::to_string(catalog.bytes) + " bytes",
                   std::to_string(*expected.bytes) + ", as when the view was made",
                   "make the view anew, from the files that are there now"});
    return catalog;
  });
}

FileCatalog ViewedFiles::checked(const fs::path& file, FileCatalog catalog) {
  if (catalog.schema->viewed.empty()) return catalog;
  const std::lock_guard lock(mutex_);
  auto schema = std::make_shared<Schema>(*catalog.schema);
  auto arrays = std::make_shared<std::vector<StoredArray>>(*schema->arrays);
  const std::vector<fs::path> paths = viewed_paths(file, *schema);
  std::vector<std::shared_ptr<const Schema>> shown(paths.size());
  catalog.viewed.resize(paths.size());
  const auto complete = [&](View& view, const StoredArray& array, Dataset& dataset) {
    if (!shown[view.file]) {
      const FileCatalog theirs = found(file, paths[view.file], schema->viewed[view.file]);
      shown[view.file] = theirs.schema;
      catalog.viewed[view.file] = {theirs.bytes, theirs.modified_ns};
    }
    const Dataset& theirs = shown_by(view, array, paths[view.file], *shown[view.file]);
    dataset.chunk_bytes = std::max(dataset.chunk_bytes, theirs.chunk_bytes);
    dataset.decoding_bytes = std::max(dataset.decoding_bytes, theirs.decoding_bytes);
  };
  for (std::size_t i = 0; i < schema->datasets.size(); ++i) {
    StoredArray& array = (*arrays)[i];
    Dataset& dataset = schema->datasets[i];
    try {
      for (View& view : dataset.views) complete(view, array, dataset);
    } catch (const Error& why) {  // kept with the array: an error only if the array is used
      if (why.kind() != Kind::input) throw;
      array = unreadable(array.name, why);
      dataset = {};
    }
  }
  schema->arrays = std::move(arrays);
  catalog.schema = std::move(schema);
  return catalog;
}

std::shared_ptr<ViewedFiles::ShownFile> ViewedFiles::open(const fs::path& shown, const FileCatalog::Version& version) {
  const std::lock_guard lock(mutex_);
  const auto [number, is_new] = numbers_.try_emplace(shown, paths_.size());
  if (is_new) paths_.push_back(shown);
  auto opened = files_.get(number->second);
  if (opened->catalog.bytes != version.bytes || opened->catalog.modified_ns != version.modified_ns)
    throw Error(Kind::input, shown.string(),
                {"it has changed since it was catalogued", "", "", {Advice::What::wait_for_writer, ""}});
  return opened;
}

}  // namespace ckpt
