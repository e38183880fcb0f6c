// What surrounds the library's convolutions, and convolutions of any sizes for what it does not take.

// The weight [o, c, 3, 3] as libraries want it: [outs, 3, 3, ins], channels padded with zeros.
template <typename T>
__device__ __forceinline__ void pack_in(const float* w, T* out, int o, int c, int outs, int ins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outs * 9 * ins) return;
    int channel = i % ins, tap = i / ins % 9, to = i / (9 * ins);
    store(out + i, to < o && channel < c ? w[(to * c + channel) * 9 + tap] : 0.f);
}
#define PACK(name, T)                                                                                                  \
    extern "C" __global__ void name(const float* w, T* out, int o, int c, int outs, int ins) {                         \
        pack_in(w, out, o, c, outs, ins);                                                                              \
    }
PACK(pack_weight_bf16, bf16)
PACK(pack_weight_f32, float)

// The library's weight gradient as ours, added to what is there if asked.
extern "C" __global__ void unpack_gradient(const bf16* dw, float* into, int o, int c, int ins, int accumulate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= o * c * 9) return;
    int tap = i % 9, channel = i / 9 % c, to = i / (9 * c);
    into[i] = (accumulate ? into[i] : 0.f) + load(dw + (to * 9 + tap) * ins + channel);
}

struct Window {
    int height, width, c, o;
};

// y[i, j, o] = sum over taps and channels of w x; turned: dx[i, j, c] from dy, with w turned round.
template <typename T>
__device__ __forceinline__ void conv_in(const T* x, const float* w, T* out, long long count, Window s, bool turned) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    int outs = turned ? s.c : s.o, ins = turned ? s.o : s.c;
    int to = (int)(i % outs), column = (int)(i / outs % s.width);
    long long line = i / outs / s.width;
    int row = (int)(line % s.height);
    float sum = 0.f;
    for (int tap = 0; tap < 9; tap++) {
        int dy = tap / 3 - 1, dx = tap % 3 - 1;
        if (row + dy < 0 || row + dy >= s.height || column + dx < 0 || column + dx >= s.width) continue;
        const T* from = x + ((line + dy) * s.width + column + dx) * ins;
        for (int k = 0; k < ins; k++)
            sum = fmaf(load(from + k), turned ? w[(k * s.c + to) * 9 + 8 - tap] : w[(to * s.c + k) * 9 + tap], sum);
    }
    store(out + i, sum);
}
#define CONV(name, T)                                                                                                  \
    extern "C" __global__ void name(const T* x, const float* w, T* out, long long count, int height, int width, int c, \
                                    int o, int turned) {                                                               \
        conv_in(x, w, out, count, Window{height, width, c, o}, turned);                                                \
    }
CONV(conv_bf16, bf16)
CONV(conv_f32, float)

// dW[o, c, k, l] = sum over pixels of h[i, j, o] x[i + k - 1, j + l - 1, c]: a block a number.
template <typename T>
__device__ __forceinline__ void weight_in(const T* h, const T* x, float* into, long long lines, Window s,
                                          int accumulate) {
    int tap = blockIdx.x % 9, channel = blockIdx.x / 9 % s.c, to = blockIdx.x / (9 * s.c);
    int dy = tap / 3 - 1, dx = tap % 3 - 1;
    float sum = 0.f;
    for (long long at = threadIdx.x; at < lines * s.width; at += blockDim.x) {
        int column = (int)(at % s.width), row = (int)(at / s.width % s.height);
        if (row + dy < 0 || row + dy >= s.height || column + dx < 0 || column + dx >= s.width) continue;
        sum = fmaf(load(h + at * s.o + to), load(x + (at + dy * s.width + dx) * s.c + channel), sum);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) into[blockIdx.x] = (accumulate ? into[blockIdx.x] : 0.f) + sum;
}
#define WEIGHT(name, T)                                                                                                \
    extern "C" __global__ void name(const T* h, const T* x, float* into, long long lines, int height, int width,       \
                                    int c, int o, int accumulate) {                                                    \
        weight_in(h, x, into, lines, Window{height, width, c, o}, accumulate);                                         \
    }
WEIGHT(weight_bf16, bf16)
WEIGHT(weight_f32, float)
