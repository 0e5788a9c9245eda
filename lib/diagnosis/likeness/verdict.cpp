#include "diagnosis/likeness/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "layout/names/characters.hpp"

namespace ckpt::likeness {

namespace {

constexpr double least_median = 0.35;       // below: another training
constexpr double least_share = 0.8;         // of the typical correlation
constexpr double least_share_moved = 0.35;  // GPT-2's c_proj, which begins small and moves most, keeps 0.38
constexpr double still = 0.9;  // a typical correlation below: much moved, and vectors, which move more, do not count
constexpr double unmoved = 0.99999;       // above: what rounding alone does
constexpr double same_spread = 1.5;       // times. Biases that began at 0 grow while they are young
constexpr double nearer = 0.5;            // of the distance to a vector's own namesake
constexpr std::size_t least_pool = 24;    // elements of vectors together
constexpr std::size_t least_vector = 4;   // elements of a vector that is compared with others
constexpr double faint = 0.25;            // of a tensor's spread: rows that training left dead are noise
constexpr double least_bad_share = 0.02;  // of a kind's blocks: a wrong rule moves more
constexpr double deviations = 4;          // that chance does not reach

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Whether a correlation of `count` pairs is significantly below the typical one (Fisher's z).
bool is_significant(double found, double typical, double count) {
  const auto z = [](double r) { return std::atanh(std::clamp(r, -0.999999, 0.999999)); };
  return z(typical) - z(found) > deviations / std::sqrt(std::max(count - 3, 1.0));
}

Moments whole_of(const TensorSample& sample) {
  Moments whole;
  for (const Moments& block : sample.blocks) whole.add(block);
  return whole;
}

/// The samples of one kind.
struct Kind {
  std::vector<std::size_t> matrices;
  std::vector<std::size_t> vectors;
};

class Judge {
 public:
  explicit Judge(const std::vector<TensorSample>& samples) : samples_(samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      Kind& kind = kinds_[kind_of(samples[i].name)];
      (samples[i].is_vector() ? kind.vectors : kind.matrices).push_back(i);
    }
  }

  Verdict verdict() {
    find_typical();
    if (!verdict_.can_tell()) return std::move(verdict_);
    verdict_.least = (*verdict_.typical > still ? least_share : least_share_moved) * *verdict_.typical;
    for (const auto& [name, kind] : kinds_) {
      judge_matrices(kind);
      if (*verdict_.typical > still) judge_pool(kind);
    }
    if (*verdict_.typical > still) judge_nearest();
    std::sort(verdict_.unlike.begin(), verdict_.unlike.end(),
              [](const Unlike& a, const Unlike& b) { return a.sample < b.sample; });
    return std::move(verdict_);
  }

 private:
  /// The median over kinds, as one rule may make most of the tensors. If most kinds are wrong, those that are right
  /// still show that the training is the same.
  void find_typical() {
    std::vector<double> of_kinds;
    double outside_layers = 0;
    for (const auto& [name, kind] : kinds_) {
      const auto found = typical_of(kind);
      if (!found) continue;
      of_kinds.push_back(*found);
      // Two trainings may begin with the same tensor in each layer (Mamba's A_log), or keep one (sinusoids).
      if (name.find('#') == std::string::npos && *found < unmoved) outside_layers = std::max(outside_layers, *found);
    }
    if (of_kinds.empty()) return;
    std::sort(of_kinds.begin(), of_kinds.end());
    const double upper = std::max(of_kinds[of_kinds.size() - 1 - of_kinds.size() / 4], outside_layers);
    verdict_.typical = median(of_kinds);
    if (*verdict_.typical < least_median && upper > still) verdict_.typical = upper;
    verdict_.is_same_training = *verdict_.typical >= least_median;
  }

  /// The median; the largest where some tensors of the kind resemble and others do so by chance: layers in another
  /// order.
  std::optional<double> typical_of(const Kind& kind) const {
    std::vector<double> found;
    bool has_chance = false;
    for (const std::size_t i : kind.matrices) {
      const Moments whole = whole_of(samples_[i]);
      const auto r = whole.correlation();
      if (!r) continue;
      found.push_back(*r);
      has_chance = has_chance || may_be_chance(whole, *r);
    }
    if (found.empty()) return std::nullopt;
    const double largest = *std::max_element(found.begin(), found.end());
    return has_chance && largest > still ? largest : median(std::move(found));
  }

  static bool may_be_chance(const Moments& moments, double correlation) {
    return correlation * std::sqrt(moments.count) < deviations;
  }

  bool is_unlike(const Moments& moments, double correlation) const {
    return correlation < verdict_.least && is_significant(correlation, *verdict_.typical, moments.count);
  }

  void judge_matrices(const Kind& kind) {
    std::map<std::size_t, Unlike> by_block;
    std::size_t blocks = 0;
    std::size_t bad = 0;
    for (const std::size_t i : kind.matrices) {
      const Moments whole = whole_of(samples_[i]);
      const auto of_whole = whole.correlation();
      if (!of_whole) continue;
      if (is_unlike(whole, *of_whole)) {
        verdict_.unlike.push_back({i, *of_whole, std::nullopt, std::nullopt});
        continue;
      }
      if (!samples_[i].is_cut_anew) continue;
      for (std::size_t b = 0; b < samples_[i].blocks.size(); ++b) {
        const Moments& block = samples_[i].blocks[b];
        const auto of_block = block.correlation();
        if (!of_block || is_faint(block, whole)) continue;
        ++blocks;
        if (!is_unlike(block, *of_block)) continue;
        ++bad;
        const auto [known, is_new] = by_block.try_emplace(i, Unlike{i, *of_block, b, std::nullopt});
        if (!is_new && *of_block < known->second.correlation) known->second = {i, *of_block, b, std::nullopt};
      }
    }
    if (static_cast<double>(bad) < least_bad_share * static_cast<double>(blocks)) return;
    for (const auto& [i, unlike] : by_block) verdict_.unlike.push_back(unlike);
  }

  static bool is_faint(const Moments& block, const Moments& whole) {
    return block.spread_of_x() < faint * whole.spread_of_x() && block.spread_of_y() < faint * whole.spread_of_y();
  }

  void judge_pool(const Kind& kind) {
    double products = 0;
    double count = 0;
    std::vector<double> growth;
    std::vector<std::size_t> members;
    for (const std::size_t i : kind.vectors) {
      const Moments whole = whole_of(samples_[i]);
      const auto correlation = whole.correlation();
      if (!correlation) continue;
      products += whole.count * *correlation;
      count += whole.count;
      growth.push_back(whole.spread_of_x() / whole.spread_of_y());
      members.push_back(i);
    }
    if (count < static_cast<double>(least_pool)) return;
    const double spread = median(growth);
    if (spread <= 1 / same_spread || spread >= same_spread) return;
    if (products / count >= verdict_.least || !is_significant(products / count, *verdict_.typical, count)) return;
    for (const std::size_t i : members) verdict_.unlike.push_back({i, products / count, std::nullopt, std::nullopt});
  }

  static double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    return std::sqrt(squares);
  }

  /// A vector that is much nearer to another one of its shape in the layer than to its own namesake was exchanged with
  /// it. This holds for norms near 1, too, whose correlation says little.
  void judge_nearest() {
    std::map<std::pair<std::string, std::uint64_t>, std::vector<std::size_t>> layers;
    for (std::size_t i = 0; i < samples_.size(); ++i)
      if (samples_[i].shape.size() == 1 && samples_[i].ours.size() >= least_vector)
        layers[{layer_of(samples_[i].name), samples_[i].shape[0]}].push_back(i);
    for (const auto& [layer, members] : layers)
      for (const std::size_t i : members) {
        const double own = distance(samples_[i].ours, samples_[i].theirs);
        std::optional<std::size_t> nearest;
        double least = nearer * own;
        for (const std::size_t j : members)
          if (const double there = j == i ? own : distance(samples_[i].ours, samples_[j].theirs); there < least) {
            nearest = j;
            least = there;
          }
        if (nearest) accuse_exchanged(i, *nearest);
      }
  }

  void accuse_exchanged(std::size_t sample, std::size_t other) {
    const auto known = std::find_if(verdict_.unlike.begin(), verdict_.unlike.end(),
                                    [&](const Unlike& each) { return each.sample == sample; });
    if (known != verdict_.unlike.end())
      known->other = other;
    else
      verdict_.unlike.push_back({sample, whole_of(samples_[sample]).correlation().value_or(0), std::nullopt, other});
  }

  const std::vector<TensorSample>& samples_;
  std::map<std::string, Kind> kinds_;
  Verdict verdict_;
};

}  // namespace

std::string kind_of(const std::string& name) {
  const auto ends_part = [&](std::size_t at) { return at >= name.size() || name[at] == '.' || name[at] == '/'; };
  std::string kind;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool is_number = end != at && ends_part(end) && (at == 0 || ends_part(at - 1));
    kind += is_number ? "#" : name.substr(at, std::max(end - at, std::size_t{1}));
    at = std::max(end, at + 1);
  }
  return kind;
}

std::string layer_of(const std::string& name) {
  for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot != 0; dot = name.rfind('.', dot - 1)) {
    const std::size_t before = name.rfind('.', dot - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    if (begin < dot && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin),
                                   name.begin() + static_cast<std::ptrdiff_t>(dot), is_digit))
      return name.substr(0, dot);
  }
  return "";
}

Verdict judge(const std::vector<TensorSample>& samples) {
  return Judge(samples).verdict();
}

}  // namespace ckpt::likeness
