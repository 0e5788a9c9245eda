#pragma once

namespace ckpt {

/// How to cut n elements into k pieces (layout-spec: `uneven`).
enum class Uneven { exact, ceil, balanced };

}  // namespace ckpt
