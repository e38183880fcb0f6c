// Images with channels last: activations, pixels, windows, joins, fixed maps along an axis.

// A thread a number.
template <typename T>
__device__ __forceinline__ void activate_in(const T* x, const T* dy, T* out, long long count, int leaky, float slope) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    float v = load(x + i), y;
    if (dy) {
        float g = load(dy + i);
        y = leaky ? (v > 0.f ? g : slope * g) : g * gelu_slope(v);
    } else {
        y = leaky ? (v > 0.f ? v : slope * v) : gelu(v);
    }
    store(out + i, y);
}
#define ACTIVATE(name, T)                                                                                              \
    extern "C" __global__ void name(const T* x, const T* dy, T* out, long long count, int leaky, float slope) {        \
        activate_in(x, dy, out, count, leaky, slope);                                                                  \
    }
ACTIVATE(activate_bf16, bf16)
ACTIVATE(activate_f32, float)

// Contexts [batch, c, height, width] to pixels [batch, height, width, c + 2]. A thread a number.
template <typename Out>
__device__ __forceinline__ void pixels_in(const float* x, Out* out, long long count, int c, int height, int width) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    int channel = (int)(i % (c + 2)), column = (int)(i / (c + 2) % width);
    long long line = i / (c + 2) / width, sample = line / height;
    int row = (int)(line - sample * height);
    float v = channel == c       ? (float)row / (float)(height - 1)
              : channel == c + 1 ? (float)column / (float)(width - 1)
                                 : x[((sample * c + channel) * height + row) * width + column];
    store(out + i, v);
}
extern "C" __global__ void pixels_bf16(const float* x, bf16* out, long long count, int c, int h, int w) {
    pixels_in(x, out, count, c, h, w);
}
extern "C" __global__ void pixels_f32(const float* x, float* out, long long count, int c, int h, int w) {
    pixels_in(x, out, count, c, h, w);
}

// What windows of an odd side see of images [batch, height, width, c]. A thread a number.
template <typename T>
__device__ __forceinline__ void windows_in(const T* x, T* out, long long count, int height, int width, int c, int side,
                                           int stride) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    int channel = (int)(i % c);
    long long rest = i / c;
    int tap = (int)(rest % (side * side));
    rest /= side * side;
    int columns = width / stride, lines = height / stride;
    int column = (int)(rest % columns) * stride + tap % side - side / 2;
    rest /= columns;
    int row = (int)(rest % lines) * stride + tap / side - side / 2;
    long long sample = rest / lines;
    bool inside = row >= 0 && row < height && column >= 0 && column < width;
    store(out + i, inside ? load(x + ((sample * height + row) * width + column) * c + channel) : 0.f);
}
// The sum over the windows that saw a pixel, always in the same order.
template <typename T>
__device__ __forceinline__ void windows_back_in(const T* dy, T* dx, long long count, int height, int width, int c,
                                                int side, int stride) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    int channel = (int)(i % c), column = (int)(i / c % width);
    long long line = i / c / width, sample = line / height;
    int row = (int)(line - sample * height), columns = width / stride, lines = height / stride;
    float sum = 0.f;
    for (int k = 0; k < side; k++) {
        int above = row + side / 2 - k;
        if (above < 0 || above % stride || above / stride >= lines) continue;
        for (int l = 0; l < side; l++) {
            int left = column + side / 2 - l;
            if (left < 0 || left % stride || left / stride >= columns) continue;
            long long window = (sample * lines + above / stride) * columns + left / stride;
            sum += load(dy + (window * side * side + k * side + l) * c + channel);
        }
    }
    store(dx + i, sum);
}
#define WINDOWS(kind, T)                                                                                               \
    extern "C" __global__ void windows_##kind(const T* x, T* out, long long count, int h, int w, int c, int side,      \
                                              int stride) {                                                            \
        windows_in(x, out, count, h, w, c, side, stride);                                                              \
    }                                                                                                                  \
    extern "C" __global__ void windows_back_##kind(const T* dy, T* dx, long long count, int h, int w, int c, int side, \
                                                   int stride) {                                                       \
        windows_back_in(dy, dx, count, h, w, c, side, stride);                                                         \
    }
WINDOWS(bf16, bf16)
WINDOWS(f32, float)

// Rows [m] and [n] side by side, or cut apart again (`back`). A thread a number of the joined rows.
template <typename T>
__device__ __forceinline__ void join_in(T* x, T* y, T* z, long long count, int m, int n, int back) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long row = i / (m + n);
    int column = (int)(i % (m + n));
    T* part = column < m ? x + row * m + column : y + row * n + column - m;
    if (back)
        *part = z[i];
    else
        z[i] = *part;
}
extern "C" __global__ void join_bf16(bf16* x, bf16* y, bf16* z, long long count, int m, int n, int back) {
    join_in(x, y, z, count, m, n, back);
}
extern "C" __global__ void join_f32(float* x, float* y, float* z, long long count, int m, int n, int back) {
    join_in(x, y, z, count, m, n, back);
}

// y[p, i, q] = sum over j of A[i, j] x[p, j, q]. A thread has eight rows i and W columns q; the matrix lies transposed,
// [n, rows], its rows filled up with zeros to a multiple of eight, and `bands` says for each eight rows from which j
// to which there is anything but zeros.
template <int W, typename T>
__device__ __forceinline__ void map_in(const T* x, const float* a, const float* bands, T* y, long long count, int m,
                                       int n, int q) {
    long long item = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    int groups = (m + 7) / 8, across = q / W;
    if (item >= count) return;
    int column = (int)(item % across) * W, group = (int)(item / across % groups);
    long long p = item / across / groups;
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
MAP(bf16, bf16, 1)
MAP(f32, float, 4)
MAP(f32, float, 1)
