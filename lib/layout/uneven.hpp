#pragma once

namespace ckpt {

/// How n elements are cut k ways (layout-spec: `uneven`).
enum class Uneven { exact, ceil, balanced };

}  // namespace ckpt
