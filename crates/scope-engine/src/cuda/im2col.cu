// What windows of an odd side see of images with channels last, and the way back.

// Images [batch, height, width, c], c in units of U that rows are whole numbers of. A thread a unit.
template <typename U>
__device__ __forceinline__ void windows_in(const U* x, U* out, long long count, int height, int width, int c, int side,
                                           int stride) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long rest = quotient(i, c);
    int channel = (int)(i - rest * c), columns = width / stride, lines = height / stride;
    u32 window = (u32)quotient(rest, side * side);
    int tap = (int)(rest - (long long)window * side * side);
    u32 line = window / columns, sample = line / lines;
    int column = (int)(window - line * columns) * stride + tap % side - side / 2;
    int row = (int)(line - sample * lines) * stride + tap / side - side / 2;
    bool inside = row >= 0 && row < height && column >= 0 && column < width;
    out[i] = inside ? x[(((long long)sample * height + row) * width + column) * c + channel] : U{};
}
#define WINDOWS(bytes, U)                                                                                              \
    extern "C" __global__ void windows_##bytes(const U* x, U* out, long long count, int h, int w, int c, int side,     \
                                               int stride) {                                                           \
        windows_in(x, out, count, h, w, c, side, stride);                                                              \
    }
WINDOWS(4, u32)
WINDOWS(16, uint4)

// The same into rows of `wide` times 16 bytes, of which the last may end in zeros. A thread 16 bytes.
template <typename U>
__device__ __forceinline__ void filled_windows_in(const U* x, uint4* out, long long count, int height, int width, int c,
                                                  int side, int stride, int wide) {
    constexpr int EACH = 16 / sizeof(U);
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 window = (u32)quotient(i, wide), columns = width / stride, line = window / columns;
    u32 lines = height / stride, sample = line / lines;
    int left = (int)(window - line * columns) * stride - side / 2, top = (int)(line - sample * lines) * stride - side / 2;
    int first = (int)(i - (long long)window * wide) * EACH;
    int tap = first / c, channel = first - tap * c, down = tap / side, across = tap - down * side;
    union {
        uint4 whole;
        U parts[EACH];
    } v;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        int row = top + down, column = left + across;
        bool inside = down < side && row >= 0 && row < height && column >= 0 && column < width;
        v.parts[k] = inside ? x[(((long long)sample * height + row) * width + column) * c + channel] : U(0);
        if (++channel == c) {
            channel = 0;
            if (++across == side) across = 0, down++;
        }
    }
    out[i] = v.whole;
}
#define FILLED_WINDOWS(bytes, U)                                                                                       \
    extern "C" __global__ void filled_windows_##bytes(const U* x, uint4* out, long long count, int h, int w, int c,    \
                                                      int side, int stride, int wide) {                                \
        filled_windows_in(x, out, count, h, w, c, side, stride, wide);                                                 \
    }
FILLED_WINDOWS(2, u16)
FILLED_WINDOWS(4, u32)

// The sum over the windows that saw a pixel, always in the same order, from rows of `wide` numbers. A thread W channels of
// a pixel.
template <int W, typename T>
__device__ __forceinline__ void windows_back_in(const T* dy, T* dx, long long count, int height, int width, int c,
                                                int side, int stride, int wide) {
    long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * W;
    if (i >= count) return;
    u32 pixel = (u32)quotient(i, c), line = pixel / width, sample = line / height;
    int channel = (int)(i - (long long)pixel * c), column = (int)(pixel - line * width);
    int row = (int)(line - sample * height), columns = width / stride, lines = height / stride;
    Vector<W> sum = {}, v;
    for (int k = 0; k < side; k++) {
        int above = row + side / 2 - k;
        if (above < 0 || above % stride || above / stride >= lines) continue;
        for (int l = 0; l < side; l++) {
            int left = column + side / 2 - l;
            if (left < 0 || left % stride || left / stride >= columns) continue;
            long long window = ((long long)sample * lines + above / stride) * columns + left / stride;
            v.load(dy + window * wide + (k * side + l) * c + channel);
#pragma unroll
            for (int e = 0; e < W; e++) sum.x[e] += v.x[e];
        }
    }
    sum.store(dx + i);
}
#define WINDOWS_BACK(kind, T, W)                                                                                       \
    extern "C" __global__ void windows_back_##kind##_##W(const T* dy, T* dx, long long count, int h, int w, int c,     \
                                                         int side, int stride, int wide) {                             \
        windows_back_in<W>(dy, dx, count, h, w, c, side, stride, wide);                                                \
    }
WINDOWS_BACK(bf16, bf16, 8)
WINDOWS_BACK(bf16, bf16, 1)
WINDOWS_BACK(f32, float, 8)
WINDOWS_BACK(f32, float, 1)

