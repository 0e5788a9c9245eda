// Any bytes are a strategy that a layout can be made of, or one error of the project's own type.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "layout/strategies/strategy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ckpt::StrategyText strategy{"fuzz", std::string(reinterpret_cast<const char*>(data), size)};
  const auto rank_of = [](const std::string& name) { return std::optional(name.size() % 4); };
  for (const ckpt::RankOf& each : {ckpt::RankOf(), ckpt::RankOf(rank_of)}) {
    try {
      const auto layout = ckpt::strategy_layout(ckpt::parse_strategy(strategy, each), strategy.origin);
      if (layout.mesh.size() == 0 || layout.mesh.size() > ckpt::max_cards) std::abort();
    } catch (const ckpt::Error& error) {
      if (error.kind() != ckpt::Kind::layout) std::abort();
    }
  }
  return 0;
}
