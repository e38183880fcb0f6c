// Numbers moved from one layout to another. A thread moves one number; neighbours write neighbours.

struct Sizes {
    int channels, height, width, patch;
};

// Where number `feature` = (channel, row, column) of patch `token` lies in images with channels first.
__device__ __forceinline__ long long pixel(Sizes s, long long token, int feature) {
    int across = s.width / s.patch, tokens = across * (s.height / s.patch), area = s.patch * s.patch;
    long long sample = token / tokens;
    int place = (int)(token - sample * tokens), channel = feature / area, rest = feature % area;
    int row = place / across * s.patch + rest / s.patch, column = place % across * s.patch + rest % s.patch;
    return ((sample * s.channels + channel) * s.height + row) * s.width + column;
}

// A thread moves W neighbours of a patch's row.
template <int W, typename In, typename Out>
__device__ __forceinline__ void patches_in(const In* x, Out* out, long long count, Sizes s) {
    long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * W;
    int features = s.channels * s.patch * s.patch;
    if (i >= count) return;
    long long token = quotient(i, features);
    Vector<W> v;
    v.load(x + pixel(s, token, (int)(i - token * features)));
    v.store(out + i);
}
#define PATCHES(name, W, In, Out)                                                                                      \
    extern "C" __global__ void name(const In* x, Out* out, long long count, int c, int h, int w, int p) {              \
        patches_in<W>(x, out, count, Sizes{c, h, w, p});                                                               \
    }
PATCHES(patches_f32_bf16_8, 8, float, bf16)
PATCHES(patches_f32_bf16_1, 1, float, bf16)
PATCHES(patches_f32_f32_8, 8, float, float)
PATCHES(patches_f32_f32_1, 1, float, float)
PATCHES(patches_bf16_bf16_8, 8, bf16, bf16)
PATCHES(patches_bf16_bf16_1, 1, bf16, bf16)
extern "C" __global__ void patches_back(const float* dy, float* dx, long long count, int c, int h, int w, int p) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    Sizes s{c, h, w, p};
    int features = c * p * p;
    if (i < count) dx[pixel(s, i / features, (int)(i % features))] = dy[i];
}

// Where channel `channel` of pixel `at` of an image with channels last lies among its tokens.
__device__ __forceinline__ long long feature(Sizes s, long long at, int channel) {
    int across = s.width / s.patch;
    int column = (int)(at % s.width);
    long long line = at / s.width, sample = line / s.height;
    int row = (int)(line - sample * s.height);
    long long token = sample * across * (s.height / s.patch) + row / s.patch * across + column / s.patch;
    return (token * s.channels + channel) * s.patch * s.patch + row % s.patch * s.patch + column % s.patch;
}

// A thread moves all channels of a pixel.
template <typename T>
__device__ __forceinline__ void tiles_in(const T* x, T* out, long long pixels, Sizes s, bool back) {
    long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= pixels) return;
    long long from = feature(s, at, 0);
    for (int c = 0; c < s.channels; c++, from += s.patch * s.patch) {
        if (back)
            out[from] = x[at * s.channels + c];
        else
            out[at * s.channels + c] = x[from];
    }
}
extern "C" __global__ void tiles_4(const u32* x, u32* out, long long pixels, int c, int h, int w, int p, int back) {
    tiles_in(x, out, pixels, Sizes{c, h, w, p}, back);
}
extern "C" __global__ void tiles_2(const u16* x, u16* out, long long pixels, int c, int h, int w, int p, int back) {
    tiles_in(x, out, pixels, Sizes{c, h, w, p}, back);
}

// The mean of every second channel over each patch: eight lanes a mean, a lane every eighth row.
extern "C" __global__ void visibility(const float* x, float* out, long long means, int c, int h, int w, int p) {
    long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 8;
    Sizes s{c, h, w, p};
    int masks = c / 2;
    float sum = 0.f;
    if (i < means) {
        const float* from = x + pixel(s, i / masks, (2 * (int)(i % masks) + 1) * p * p);
        for (int row = threadIdx.x & 7; row < p; row += 8) {
            if (p % 4 == 0 && w % 4 == 0)
                for (int k = 0; k < p; k += 4) {
                    float4 v = *(const float4*)(from + (long long)row * w + k);
                    sum += v.x + v.y + v.z + v.w;
                }
            else
                for (int k = 0; k < p; k++) sum += from[(long long)row * w + k];
        }
    }
#pragma unroll
    for (int step = 1; step < 8; step <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (i < means && (threadIdx.x & 7) == 0) out[i] = sum / (p * p);
}

// Each of a batch of matrices [rows, columns] transposed.
template <typename T>
__device__ __forceinline__ void transpose_in(const T* x, T* out, long long count, int rows, int columns) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long matrix = i / ((long long)rows * columns);
    int at = (int)(i - matrix * rows * columns);
    out[i] = x[matrix * rows * columns + (long long)(at % rows) * columns + at / rows];
}
extern "C" __global__ void transpose_4(const u32* x, u32* out, long long count, int rows, int columns) {
    transpose_in(x, out, count, rows, columns);
}
extern "C" __global__ void transpose_2(const u16* x, u16* out, long long count, int rows, int columns) {
    transpose_in(x, out, count, rows, columns);
}
