#pragma once

#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/open.hpp"
#include "diagnosis/draft/question.hpp"

namespace ckpt::drafting {

/// The parameters that stored names make under a layout's `rename` and `indices`.
struct Questions {
  std::vector<Question> all;
  OpenNames open;  ///< those that cannot be asked about
};

/// `facts`: for names on the layout's cards; `reference` may be null. Takes only parameters with names in `only`,
/// unless it is empty.
Questions ask(const Layout& layout, const std::vector<NameFacts>& facts, const WholeTensors* reference,
              const std::vector<std::string>& only = {});

}  // namespace ckpt::drafting
