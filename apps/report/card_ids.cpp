#include "report/card_ids.hpp"

#include <algorithm>

namespace ckpt::cli {

namespace {

std::string text_of(const CardIds::Run& run) {
  const std::string first = std::to_string(run.first);
  if (run.count() == 1) return first;
  if (run.step == 1) return first + "-" + std::to_string(run.last);
  if (run.count() == 2) return first + ", " + std::to_string(run.last);
  return first + "-" + std::to_string(run.last) + ":" + std::to_string(run.step);
}

}  // namespace

CardIds::CardIds(std::vector<std::uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  for (const std::uint64_t id : ids) add(id);
}

void CardIds::add(std::uint64_t id) {
  ++count_;
  if (!runs_.empty()) {
    Run& run = runs_.back();
    if (run.count() == 1) {
      run.step = id - run.first;
      run.last = id;
      return;
    }
    if (id - run.last == run.step) {
      run.last = id;
      return;
    }
    if (run.count() == 2 && run.step > 1) {  // two ids with a gap are no run: the second may begin one
      const std::uint64_t second = run.last;
      run = {run.first, run.first, 1};
      runs_.push_back({second, id, id - second});
      return;
    }
  }
  runs_.push_back({id, id, 1});
}

std::string CardIds::text(std::size_t most) const {
  std::string text;
  std::uint64_t told = 0;
  for (std::size_t i = 0; i < runs_.size() && i < most; ++i) {
    text += (i > 0 ? ", " : "") + text_of(runs_[i]);
    told += runs_[i].count();
  }
  return told == count_ ? text : text + ", … (" + std::to_string(count_ - told) + " more)";
}

}  // namespace ckpt::cli
