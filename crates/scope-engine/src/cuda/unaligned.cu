// Rows that the library does not take as they are: filled up with zeros to a multiple of eight numbers, and cut again.

// Rows of n units as rows of `wide`, which fill whole 16 bytes: a thread 16 bytes of `out`.
template <typename U>
__device__ __forceinline__ void fill_in(const U* x, uint4* out, long long count, int n, int wide) {
    constexpr int EACH = 16 / sizeof(U);
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long row = quotient(i, wide / EACH);
    int first = (int)(i - row * (wide / EACH)) * EACH;
    union {
        uint4 whole;
        U parts[EACH];
    } v;
#pragma unroll
    for (int k = 0; k < EACH; k++) v.parts[k] = first + k < n ? x[row * n + first + k] : U(0);
    out[i] = v.whole;
}
// The first n units of rows of `wide`: a thread 16 bytes of x.
template <typename U>
__device__ __forceinline__ void cut_in(const uint4* x, U* out, long long count, int n, int wide) {
    constexpr int EACH = 16 / sizeof(U);
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long row = quotient(i, wide / EACH);
    int first = (int)(i - row * (wide / EACH)) * EACH;
    union {
        uint4 whole;
        U parts[EACH];
    } v;
    v.whole = x[i];
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (first + k < n) out[row * n + first + k] = v.parts[k];
}
#define ROWS(size, U)                                                                                                  \
    extern "C" __global__ void fill_##size(const U* x, uint4* out, long long count, int n, int wide) {                 \
        fill_in(x, out, count, n, wide);                                                                               \
    }                                                                                                                  \
    extern "C" __global__ void cut_##size(const uint4* x, U* out, long long count, int n, int wide) {                  \
        cut_in(x, out, count, n, wide);                                                                                \
    }
ROWS(1, u16)
ROWS(2, u32)
ROWS(4, u64)

// A matrix [rows, columns] in the corner of one of zeros [high, wide].
extern "C" __global__ void corner(const u16* x, u16* out, int rows, int columns, int high, int wide) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / wide, column = i - row * wide;
    if (row < high) out[i] = row < rows && column < columns ? x[row * columns + column] : 0;
}
// The corner [rows, columns] of a matrix with rows of `wide`, added to what is there if asked.
extern "C" __global__ void from_corner(const float* x, float* out, int rows, int columns, int wide, int accumulate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / columns;
    if (row < rows) out[i] = x[row * wide + i - row * columns] + (accumulate ? out[i] : 0.f);
}
