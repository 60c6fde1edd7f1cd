"""xoshiro256** as inline C, the twin of ``random_python.py``."""

from libc.stdint cimport uint64_t

ctypedef struct Xoshiro:
    uint64_t s0
    uint64_t s1
    uint64_t s2
    uint64_t s3


cdef inline uint64_t splitmix(uint64_t *counter) noexcept nogil:
    cdef uint64_t z
    counter[0] += <uint64_t>0x9E3779B97F4A7C15
    z = counter[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline void seed_generator(Xoshiro *state, uint64_t seed) noexcept nogil:
    cdef uint64_t counter = seed
    state.s0 = splitmix(&counter)
    state.s1 = splitmix(&counter)
    state.s2 = splitmix(&counter)
    state.s3 = splitmix(&counter)


cdef inline uint64_t next_uint64(Xoshiro *state) noexcept nogil:
    cdef uint64_t scrambled = state.s1 * 5
    cdef uint64_t shifted = state.s1 << 17
    scrambled = ((scrambled << 7) | (scrambled >> 57)) * 9
    state.s2 ^= state.s0
    state.s3 ^= state.s1
    state.s1 ^= state.s2
    state.s0 ^= state.s3
    state.s2 ^= shifted
    state.s3 = (state.s3 << 45) | (state.s3 >> 19)
    return scrambled


cdef inline double uniform(Xoshiro *state) noexcept nogil:
    # 53 random bits; 2**-53 exactly.
    return <double>(next_uint64(state) >> 11) * 1.1102230246251565e-16
