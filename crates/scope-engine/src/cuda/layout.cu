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

template <typename In, typename Out>
__device__ __forceinline__ void patches_in(const In* x, Out* out, long long count, Sizes s) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    int features = s.channels * s.patch * s.patch;
    if (i < count) store(out + i, load(x + pixel(s, i / features, (int)(i % features))));
}
extern "C" __global__ void patches_bf16(const float* x, bf16* out, long long count, int c, int h, int w, int p) {
    patches_in(x, out, count, Sizes{c, h, w, p});
}
extern "C" __global__ void patches_f32(const float* x, float* out, long long count, int c, int h, int w, int p) {
    patches_in(x, out, count, Sizes{c, h, w, p});
}
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

template <typename T>
__device__ __forceinline__ void tiles_in(const T* x, T* out, long long count, Sizes s, bool back) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long from = feature(s, i / s.channels, (int)(i % s.channels));
    if (back)
        out[from] = x[i];
    else
        out[i] = x[from];
}
extern "C" __global__ void tiles_4(const u32* x, u32* out, long long count, int c, int h, int w, int p, int back) {
    tiles_in(x, out, count, Sizes{c, h, w, p}, back);
}
extern "C" __global__ void tiles_2(const u16* x, u16* out, long long count, int c, int h, int w, int p, int back) {
    tiles_in(x, out, count, Sizes{c, h, w, p}, back);
}

// The mean of every second channel over each patch: a warp a mean.
extern "C" __global__ void visibility(const float* x, float* out, long long means, int c, int h, int w, int p) {
    long long i = blockIdx.x * (long long)(blockDim.x / 32) + threadIdx.x / 32;
    if (i >= means) return;
    Sizes s{c, h, w, p};
    int masks = c / 2, area = p * p, mask = (int)(i % masks);
    float sum = 0.f;
    for (int k = threadIdx.x & 31; k < area; k += 32) sum += x[pixel(s, i / masks, (2 * mask + 1) * area + k)];
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) out[i] = sum / area;
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
