#pragma once

#include <cstddef>
#include <type_traits>

#include "processes/mpi/mpi_abi.hpp"

namespace ckpt {

/// Whether a processor passes values of both types in the same way: pointers, or integers of one size.
template <class A, class B>
inline constexpr bool passed_alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;

template <class A, class B>
struct SameCall : std::false_type {};
template <class... A, class... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<int (*)(A...), int (*)(B...)>
    : std::bool_constant<(passed_alike<A, B> && ...)> {
};

/// Whether a function of MPI, as its header declares it, can be called through one of MpiCalls' pointers.
template <class Declared, class Called>
inline constexpr bool same_call = SameCall<Declared, Called>::value;

}  // namespace ckpt
