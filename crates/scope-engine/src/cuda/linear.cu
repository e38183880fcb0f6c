// What surrounds the products of linear layers and convolutions: biases, GELU, and sums over rows.

// y[m, n] = f(u[m, stride] + b), f being nothing or GELU; optionally + r[m, n] or + table[m mod period, n]. If asked for, also
// slope[m, n] = f'(u + b); y or slope may take the place of u. A thread takes W neighbours of a row.
template <int W, typename In, typename Out, bool GELU>
__device__ __forceinline__ void bias_in(const In* u, const float* bias, const float* added, Out* out, Out* slope,
                                        long long count, int n, int stride, long long period) {
    long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * W;
    if (i >= count) return;
    long long row = quotient(i, n);
    int column = (int)(i - row * n);
    Vector<W> v, b;
    v.load(u + row * stride + column);
    if (bias) {
        b.load(bias + column);
#pragma unroll
        for (int k = 0; k < W; k++) v.x[k] += b.x[k];
    }
    if (GELU) {
        if (slope) {
#pragma unroll
            for (int k = 0; k < W; k++) b.x[k] = gelu_slope_for<Out>(v.x[k]);
            b.store(slope + i);
        }
#pragma unroll
        for (int k = 0; k < W; k++) v.x[k] = gelu_for<Out>(v.x[k]);
    }
    if (added) {
        b.load(added + (period ? i % period : i));
#pragma unroll
        for (int k = 0; k < W; k++) v.x[k] += b.x[k];
    }
    v.store(out + i);
}

#define BIAS_OF(W, name, In, Out, GELU)                                                                                \
    extern "C" __global__ void __launch_bounds__(256) name##_##W(const In* u, const float* b, const float* a,          \
                                                                 Out* out, Out* slope, long long count, int n,         \
                                                                 int stride, long long period) {                       \
        bias_in<W, In, Out, GELU>(u, b, a, out, slope, count, n, stride, period);                                      \
    }
#define BIAS(name, In, Out, GELU)                                                                                      \
    BIAS_OF(8, name, In, Out, GELU)                                                                                    \
    BIAS_OF(2, name, In, Out, GELU)                                                                                    \
    BIAS_OF(1, name, In, Out, GELU)
BIAS(bias_bf16_bf16, bf16, bf16, false)
BIAS(bias_bf16_f32, bf16, float, false)
BIAS(bias_f32_f32, float, float, false)
BIAS(gelu_bf16_bf16, bf16, bf16, true)
BIAS(gelu_f32_f32, float, float, true)

// The sum of p[i n] for i from `first` below `end` in steps; sixteen are asked for before the first is used.
__device__ __forceinline__ float strided_sum(const float* p, int first, int end, int step, long long n) {
    float sum = 0.f;
    for (int i = first; i < end; i += 16 * step) {
        float x[16];
#pragma unroll
        for (int j = 0; j < 16; j++) x[j] = i + j * step < end ? __ldcg(p + (i + j * step) * n) : 0.f;
#pragma unroll
        for (int j = 0; j < 16; j++) sum += x[j];
    }
    return sum;
}

// What h is made of: g alone, g gelu'(u + b), or g u, where u is a slope already.
enum { ALONE, GELU, SLOPE };

// partial[y, n] = the sum over some rows of h[m, n], made of g[m, n] and u[m, stride]. If it is not g alone, it is written too.
//
// A block takes `lanes` W columns of some rows: 256 / lanes rows at once, a thread W columns of one. If `lanes` does not
// divide 256, the last few threads have nothing to do. `finish_sums` adds up what the blocks leave.
template <int W, typename T, int KIND>
__device__ __forceinline__ void sums_in(const T* g, const T* u, const float* bias, T* h, float* partial,
                                        long long m, int n, int stride, int lanes) {
    __shared__ float shared[256 * W];
    const int columns = lanes * W, rows = 256 / lanes, start = blockIdx.x * columns;
    const int mine = threadIdx.x / lanes, column = start + (threadIdx.x - mine * lanes) * W;
    Vector<W> b, total;
#pragma unroll
    for (int k = 0; k < W; k++) total.x[k] = 0.f, b.x[k] = 0.f;
    if (column < n && mine < rows) {
        if (KIND == GELU) b.load(bias + column);
        // Some rows are asked for before the first is used: neighbours where much is written too, which memory likes best; else
        // far apart, so that few rows keep many blocks busy.
        constexpr int AHEAD = KIND == ALONE ? 16 : 4;
        const int step = KIND == ALONE ? gridDim.y * rows : rows, end = (int)m;
        const int begin = blockIdx.y * rows * (KIND == ALONE ? 1 : AHEAD) + mine;
        for (int row = begin; row < end; row += AHEAD * gridDim.y * rows) {
            Raw<W, T> gs[AHEAD], us[KIND == ALONE ? 1 : AHEAD];
#pragma unroll
            for (int j = 0; j < AHEAD; j++)
                if (row + j * step < end) {
                    gs[j].load(g + (long long)(row + j * step) * n + column);
                    if (KIND != ALONE) us[j].load(u + (long long)(row + j * step) * stride + column);
                }
#pragma unroll
            for (int j = 0; j < AHEAD; j++) {
                if (row + j * step >= end) continue;
                Vector<W> v = gs[j].wide();
                if (KIND != ALONE) {
                    Vector<W> x = us[j].wide();
#pragma unroll
                    for (int k = 0; k < W; k++) v.x[k] *= KIND == SLOPE ? x.x[k] : gelu_slope_for<T>(x.x[k] + b.x[k]);
                    v.store(h + (long long)(row + j * step) * n + column);
                }
#pragma unroll
                for (int k = 0; k < W; k++) total.x[k] += v.x[k];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < W; k++) shared[threadIdx.x * W + k] = total.x[k];
    __syncthreads();
    for (int c = threadIdx.x; c < columns && start + c < n; c += 256) {
        float sum = 0.f;
#pragma unroll 8
        for (int r = 0; r < rows; r++) sum += shared[r * columns + c];
        partial[(long long)blockIdx.y * n + start + c] = sum;
    }
}

#define SUMS(name, W, T, KIND)                                                                                         \
    extern "C" __global__ void __launch_bounds__(256, KIND == ALONE ? 2 : 4)                                                    \
        name(const T* g, const T* u, const float* bias, T* h, float* partial, long long m, int n, int stride,          \
             int lanes) {                                                                                              \
        sums_in<W, T, KIND>(g, u, bias, h, partial, m, n, stride, lanes);                                              \
    }
SUMS(sums_bf16_8, 8, bf16, ALONE)
SUMS(sums_bf16_1, 1, bf16, ALONE)
SUMS(sums_f32_8, 8, float, ALONE)
SUMS(sums_f32_1, 1, float, ALONE)
SUMS(gelu_sums_bf16_8, 8, bf16, GELU)
SUMS(gelu_sums_bf16_1, 1, bf16, GELU)
SUMS(gelu_sums_f32_8, 8, float, GELU)
SUMS(gelu_sums_f32_1, 1, float, GELU)
SUMS(slope_sums_bf16_8, 8, bf16, SLOPE)
SUMS(slope_sums_bf16_1, 1, bf16, SLOPE)
SUMS(slope_sums_f32_8, 8, float, SLOPE)
SUMS(slope_sums_f32_1, 1, float, SLOPE)

// sums[n] = the sum of partial[pieces, n], on top of what is there if asked: 32 columns a block, its warps sharing the
// pieces.
extern "C" __global__ void finish_sums(const float* partial, float* sums, int n, int pieces, int accumulate) {
    __shared__ float shared[32][32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, column = blockIdx.x * 32 + lane;
    shared[warp][lane] = column < n ? strided_sum(partial + column, warp, pieces, warps, n) : 0.f;
    __syncthreads();
    if (warp || column >= n) return;
    float sum = accumulate ? sums[column] : 0.f;
    for (int w = 0; w < warps; w++) sum += shared[w][lane];
    sums[column] = sum;
}

// y[m, n] = x[m, k] w[n, k]^T + b, plus r[m, n] if there is one, for k <= 8: a thread a number.
template <typename T, typename Out>
__device__ __forceinline__ void narrow_product_in(const T* x, const T* w, const float* bias, const float* added, Out* out,
                                                  long long count, int n, int k) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long row = i / n;
    int column = (int)(i - row * n);
    float sum = bias ? bias[column] : 0.f;
#pragma unroll
    for (int j = 0; j < 8; j++)
        if (j < k) sum = fmaf(load(x + row * k + j), load(w + column * k + j), sum);
    store(out + i, added ? sum + added[i] : sum);
}
#define NARROW_PRODUCT(name, T, Out)                                                                                   \
    extern "C" __global__ void name(const T* x, const T* w, const float* bias, const float* added, Out* out,           \
                                    long long count, int n, int k) {                                                   \
        narrow_product_in(x, w, bias, added, out, count, n, k);                                                        \
    }
NARROW_PRODUCT(narrow_product_bf16_bf16, bf16, bf16)
NARROW_PRODUCT(narrow_product_bf16_f32, bf16, float)
NARROW_PRODUCT(narrow_product_f32_f32, float, float)

// dW[n, k] = sum over rows of h[m, n] x[m, k] for k <= 8, added to what is there if asked: column sums with weights.
template <typename T>
__device__ __forceinline__ void narrow_in(const T* h, const T* x, float* into, float* partial, u32* counters,
                                          long long m, int n, int k, int accumulate) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float total[8] = {0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
    if (column < n)
#pragma unroll 4
        for (int row = blockIdx.y; row < (int)m; row += gridDim.y) {
            float v = load(h + (long long)row * n + column);
#pragma unroll
            for (int j = 0; j < 8; j++)
                if (j < k) total[j] = fmaf(v, load(x + (long long)row * k + j), total[j]);
        }
#pragma unroll
    for (int j = 0; j < 8; j++)
        if (column < n && j < k) partial[((long long)blockIdx.y * n + column) * k + j] = total[j];
    if (!last_to_arrive(counters + blockIdx.x, gridDim.y)) return;
    for (int j = 0; j < k && column < n; j++) {
        float before = accumulate ? into[(long long)column * k + j] : 0.f;
        into[(long long)column * k + j] = before + strided_sum(partial + (long long)column * k + j, 0, gridDim.y, 1, (long long)n * k);
    }
}
extern "C" __global__ void narrow_gradient_bf16(const bf16* h, const bf16* x, float* into, float* partial,
                                                u32* counters, long long m, int n, int k, int accumulate) {
    narrow_in(h, x, into, partial, counters, m, n, k, accumulate);
}
extern "C" __global__ void narrow_gradient_f32(const float* h, const float* x, float* into, float* partial,
                                               u32* counters, long long m, int n, int k, int accumulate) {
    narrow_in(h, x, into, partial, counters, m, n, k, accumulate);
}
