// Images with channels last: activations, pixels, frames, joins, fixed maps along an axis.

// f(x), or dy f'(x) if there is a dy; W neighbours from `i` on.
template <int W, typename T>
__device__ __forceinline__ void activate_at(const T* x, const T* dy, T* out, long long i, int leaky, float slope) {
    Vector<W> v, g;
    v.load(x + i);
    if (dy) g.load(dy + i);
#pragma unroll
    for (int k = 0; k < W; k++) {
        float u = v.x[k];
        if (dy)
            v.x[k] = leaky ? (u > 0.f ? g.x[k] : slope * g.x[k]) : g.x[k] * gelu_slope(u);
        else
            v.x[k] = leaky ? (u > 0.f ? u : slope * u) : gelu(u);
    }
    v.store(out + i);
}
// A thread eight numbers; the last few, which are no vector, are the first thread's too.
template <typename T>
__device__ __forceinline__ void activate_in(const T* x, const T* dy, T* out, long long count, int leaky, float slope) {
    long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * 8;
    if (i + 8 <= count) activate_at<8>(x, dy, out, i, leaky, slope);
    if (i == 0)
        for (long long rest = count / 8 * 8; rest < count; rest++) activate_at<1>(x, dy, out, rest, leaky, slope);
}
#define ACTIVATE(name, T)                                                                                              \
    extern "C" __global__ void name(const T* x, const T* dy, T* out, long long count, int leaky, float slope) {        \
        activate_in(x, dy, out, count, leaky, slope);                                                                  \
    }
ACTIVATE(activate_bf16, bf16)
ACTIVATE(activate_f32, float)

// Contexts [batch, c, height, width] to pixels [batch, height, width, c + 2]. A thread a pixel.
template <typename Out>
__device__ __forceinline__ void pixels_in(const float* x, Out* out, long long count, int c, int height, int width) {
    long long pixel = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pixel >= count) return;
    long long line = quotient(pixel, width), sample = quotient(line, height);
    int column = (int)(pixel - line * width), row = (int)(line - sample * height);
    x += sample * c * height * width + row * width + column;
    out += pixel * (c + 2);
    long long plane = (long long)height * width;
    float down = (float)row / (float)(height - 1), across = (float)column / (float)(width - 1);
    if (c % 2 == 0) {
        for (int channel = 0; channel < c; channel += 2, x += 2 * plane) Vector<2>{x[0], x[plane]}.store(out + channel);
        Vector<2>{down, across}.store(out + c);
        return;
    }
    for (int channel = 0; channel < c; channel++, x += plane) store(out + channel, x[0]);
    store(out + c, down);
    store(out + c + 1, across);
}
extern "C" __global__ void pixels_bf16(const float* x, bf16* out, long long count, int c, int h, int w) {
    pixels_in(x, out, count, c, h, w);
}
extern "C" __global__ void pixels_f32(const float* x, float* out, long long count, int c, int h, int w) {
    pixels_in(x, out, count, c, h, w);
}

// Images [batch, high, wide, c] in another frame [height, width], with zeros where they have no pixel; c in units of U. A
// thread a unit.
template <typename U>
__device__ __forceinline__ void frame_in(const U* x, U* y, long long count, int high, int wide, int height, int width,
                                         int c) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 pixel = (u32)quotient(i, c), line = pixel / width, sample = line / height;
    int channel = (int)(i - (long long)pixel * c), column = (int)(pixel - line * width);
    int row = (int)(line - sample * height);
    bool inside = row < high && column < wide;
    y[i] = inside ? x[(((long long)sample * high + row) * wide + column) * c + channel] : U{};
}
#define FRAME(bytes, U)                                                                                                \
    extern "C" __global__ void frame_##bytes(const U* x, U* y, long long count, int high, int wide, int height,        \
                                             int width, int c) {                                                       \
        frame_in(x, y, count, high, wide, height, width, c);                                                           \
    }
FRAME(2, u16)
FRAME(4, u32)
FRAME(16, uint4)

// Rows [m] and [n] of units side by side, or cut apart again (`back`). A thread a unit of the joined rows.
template <typename U>
__device__ __forceinline__ void join_in(U* x, U* y, U* z, long long count, int m, int n, int back) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long row = quotient(i, m + n);
    int column = (int)(i - row * (m + n));
    U* part = column < m ? x + row * m + column : y + row * n + column - m;
    if (back)
        *part = z[i];
    else
        z[i] = *part;
}
#define JOIN(bytes, U)                                                                                                 \
    extern "C" __global__ void join_##bytes(U* x, U* y, U* z, long long count, int m, int n, int back) {               \
        join_in(x, y, z, count, m, n, back);                                                                           \
    }
JOIN(2, u16)
JOIN(4, u32)
JOIN(8, u64)
JOIN(16, uint4)

// y[p, i, q] = sum over j of A[i, j] x[p, j, q]. A thread has eight rows i and W columns q; the matrix lies transposed,
// [n, rows], its rows filled up with zeros to a multiple of eight, and `bands` says for each eight rows from which j
// to which there is anything but zeros.
template <int W, typename T>
__device__ __forceinline__ void map_in(const T* x, const float* a, const float* bands, T* y, long long count, int m,
                                       int n, int q) {
    long long item = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    int groups = (m + 7) / 8, across = q / W;
    if (item >= count) return;
    long long rest = quotient(item, across), p = quotient(rest, groups);
    int column = (int)(item - rest * across) * W, group = (int)(rest - p * groups);
    float sums[8][W] = {};
    int first = (int)bands[2 * group], last = (int)bands[2 * group + 1];
    const T* from = x + (p * n + first) * q + column;
    const float* factors = a + (long long)first * groups * 8 + group * 8;
    for (int j = first; j < last; j++, from += q, factors += groups * 8) {
        Vector<W> v;
        v.load(from);
        float4 low = ((const float4*)factors)[0], high = ((const float4*)factors)[1];
        const float f[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int k = 0; k < W; k++) sums[i][k] = fmaf(f[i], v.x[k], sums[i][k]);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (group * 8 + i >= m) break;
        Vector<W> v;
#pragma unroll
        for (int k = 0; k < W; k++) v.x[k] = sums[i][k];
        v.store(y + (p * m + group * 8 + i) * q + column);
    }
}
#define MAP(kind, T, W)                                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        map_##kind##_##W(const T* x, const float* a, const float* bands, T* y, long long count, int m, int n, int q) { \
        map_in<W>(x, a, bands, y, count, m, n, q);                                                                     \
    }
MAP(bf16, bf16, 4)
MAP(bf16, bf16, 2)
MAP(bf16, bf16, 1)
MAP(f32, float, 4)
MAP(f32, float, 2)
MAP(f32, float, 1)

// x g for each of n channels. A thread a number.
template <typename T>
__device__ __forceinline__ void scale_in(const T* x, const float* gain, T* out, long long count, int n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) store(out + i, load(x + i) * gain[i - quotient(i, n) * n]);
}
extern "C" __global__ void scale_bf16(const bf16* x, const float* gain, bf16* out, long long count, int n) {
    scale_in(x, gain, out, count, n);
}
extern "C" __global__ void scale_f32(const float* x, const float* gain, float* out, long long count, int n) {
    scale_in(x, gain, out, count, n);
}

// x where the weight of its `each` neighbours is not zero, elsewhere the other value, or zero if there is none.
extern "C" __global__ void choose(const float* x, const float* other, const float* w, float* out, long long count,
                                  int each) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = w[quotient(i, each)] != 0.f ? x[i] : other ? other[i] : 0.f;
}
