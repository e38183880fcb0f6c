// 3x3 convolutions between two channels and BIG channels (a compile-time constant, a multiple of 32), which leave the
// library's matrix kernels mostly idle. Images are [lines, width, channels] bf16, `lines` counting rows of all samples.
// Tap k of nine looks at row k / 3 - 1 and column k % 3 - 1 from where it stands.

#define SEGMENT 128 // pixels of a row that a block has at once

// Two channels to BIG: u = sum over taps and channels of w x, and y = gelu(u + b); either may be left out. Weights are
// w[BIG, 2, 9], or turned round w[2, BIG, 9], for the gradient of an input with BIG channels.
//
// A product of pixels, a warp sixteen, with the 18 numbers of their windows: both channels of tap t are one word of a
// lane's factor. The order of columns is free: of each 32 channels, lane t gets 8 t .. 8 t + 7 of its pixels.
extern "C" __global__ void __launch_bounds__(256) widen_image(const u32* x, const float* w, const float* bias, bf16* u,
                                                              bf16* y, int lines, int height, int width, int turned) {
    __shared__ u32 factors[BIG / 8][3][32];
    __shared__ u32 rows[3][SEGMENT + 4];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    for (int i = threadIdx.x; i < BIG / 8 * 96; i += 256) {
        int tile = i / 96, part = i / 32 % 3, column = i % 32 >> 2, tap = (i & 3) + part * 4;
        int c = tile / 4 * 32 + (column >> 1) * 8 + tile % 4 * 2 + (column & 1);
        float v[2];
        for (int s = 0; s < 2; s++)
            v[s] = tap > 8 ? 0.f : turned ? w[(s * BIG + c) * 9 + 8 - tap] : w[(c * 2 + s) * 9 + tap];
        factors[tile][part][i % 32] = pack(v[0], v[1]);
    }
    const int segments = (width + SEGMENT - 1) / SEGMENT;
    for (int item = blockIdx.x; item < lines * segments; item += gridDim.x) {
        const int line = item / segments, first = item % segments * SEGMENT, row = line % height;
        __syncthreads();
        for (int i = threadIdx.x; i < 3 * (SEGMENT + 2); i += 256) {
            int r = i / (SEGMENT + 2), c = first + i % (SEGMENT + 2) - 1;
            bool inside = row + r - 1 >= 0 && row + r - 1 < height && c >= 0 && c < width;
            rows[r][i % (SEGMENT + 2)] = inside ? x[(long long)(line + r - 1) * width + c] : 0;
        }
        __syncthreads();
        const int low = warp * 16 + g, near = t + 4;
        const u32 window[4] = {rows[t / 3][low + t % 3], rows[t / 3][low + 8 + t % 3], rows[near / 3][low + near % 3],
                               rows[near / 3][low + 8 + near % 3]};
        const u32 corner[4] = {t ? 0 : rows[2][low + 2], t ? 0 : rows[2][low + 10], 0, 0};
#pragma unroll 2
        for (int block = 0; block < BIG / 32; block++) {
            float sum[4][4];
#pragma unroll
            for (int k = 0; k < 16; k++) (&sum[0][0])[k] = 0.f;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const u32(*f)[32] = factors[block * 4 + j];
                multiply(sum[j], window, f[0][lane], f[1][lane]);
                multiply(sum[j], corner, f[2][lane], 0);
            }
            Vector<8> b;
            if (y) b.load(bias + block * 32 + t * 8);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int pixel = first + low + half * 8;
                if (pixel >= width) continue;
                long long to = ((long long)line * width + pixel) * BIG + block * 32 + t * 8;
                Vector<8> v;
#pragma unroll
                for (int k = 0; k < 8; k++) v.x[k] = sum[k / 2][half * 2 + k % 2];
                if (u) v.store(u + to);
                if (!y) continue;
#pragma unroll
                for (int k = 0; k < 8; k++) v.x[k] = gelu_fast(v.x[k] + b.x[k]);
                v.store(y + to);
            }
        }
    }
}

// BIG channels to two, for rows of at most SEGMENT pixels: first the nine taps of both results are the columns of one
// product with the channels, then each result gathers its taps from its neighbours. A block has a strip of STRIP rows (a
// compile-time constant); a warp sixteen pixels. Weights are w[2, BIG, 9], or turned round w[BIG, 2, 9]. With GELU, x is first made gelu(x + inner).
#ifndef STRIP
#define STRIP 8
#endif
__device__ __forceinline__ u32 gelu_pair(u32 x, float2 b) {
    return pack(gelu_fast(low_half(x) + b.x), gelu_fast(high_half(x) + b.y));
}
template <typename Out, bool GELU>
__device__ __forceinline__ void narrow_in(const bf16* x, const float* w, const float* bias, const float* added,
                                          const float* inner, Out* out, int height, int width, int turned) {
    __shared__ uint2 columns[BIG / 16][3][32];
    __shared__ float2 biases[GELU ? BIG / 2 : 1];
    if (GELU)
        for (int i = threadIdx.x; i < BIG / 2; i += 256) biases[i] = ((const float2*)inner)[i];
    __shared__ float taps[SEGMENT][19];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    // The order of channels in a product is free: lane t takes channels 8 t .. 8 t + 7 of each 32 at once.
    for (int i = threadIdx.x; i < BIG / 16 * 96; i += 256) {
        int step = i / 96, tile = i / 32 % 3, l = i % 32, column = tile * 8 + (l >> 2);
        float v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int c = step / 2 * 32 + (l & 3) * 8 + step % 2 * 4 + k, tap = column >> 1, o = column & 1;
            v[k] = column >= 18 ? 0.f : turned ? w[(c * 2 + o) * 9 + 8 - tap] : w[(o * BIG + c) * 9 + tap];
        }
        columns[step][tile][l] = make_uint2(pack(v[0], v[1]), pack(v[2], v[3]));
    }
    const int strips = (height + STRIP - 1) / STRIP, sample = blockIdx.x / strips;
    const int top = blockIdx.x % strips * STRIP, bottom = min(top + STRIP, height);
    const int pixel = threadIdx.x >> 1, o = threadIdx.x & 1;
    float above = 0.f, here = 0.f;
    for (int row = top - 1; row <= bottom; row++) {
        const bool inside = row >= 0 && row < height;
        __syncthreads();
        if (inside) {
            float sum[3][4];
#pragma unroll
            for (int k = 0; k < 12; k++) (&sum[0][0])[k] = 0.f;
            const bf16* from = x + ((long long)sample * height + row) * width * BIG;
            const int low = warp * 16 + g, high = low + 8;
#pragma unroll
            for (int block = 0; block < BIG / 32; block++) {
                uint4 zero = make_uint4(0, 0, 0, 0);
                uint4 a = low < width ? *(const uint4*)(from + (long long)low * BIG + block * 32 + t * 8) : zero;
                uint4 b = high < width ? *(const uint4*)(from + (long long)high * BIG + block * 32 + t * 8) : zero;
                if (GELU) {
                    const float2* c = biases + block * 16 + t * 4;
                    a = make_uint4(gelu_pair(a.x, c[0]), gelu_pair(a.y, c[1]), gelu_pair(a.z, c[2]), gelu_pair(a.w, c[3]));
                    b = make_uint4(gelu_pair(b.x, c[0]), gelu_pair(b.y, c[1]), gelu_pair(b.z, c[2]), gelu_pair(b.w, c[3]));
                }
                u32 first[4] = {a.x, b.x, a.y, b.y}, second[4] = {a.z, b.z, a.w, b.w};
#pragma unroll
                for (int tile = 0; tile < 3; tile++) {
                    uint2 c = columns[block * 2][tile][lane], d = columns[block * 2 + 1][tile][lane];
                    multiply(sum[tile], first, c.x, c.y);
                    multiply(sum[tile], second, d.x, d.y);
                }
            }
#pragma unroll
            for (int tile = 0; tile < 3; tile++)
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    int column = tile * 8 + 2 * t + k;
                    if (column < 18) taps[low][column] = sum[tile][k], taps[high][column] = sum[tile][2 + k];
                }
        }
        __syncthreads();
        // This row is below the one above, level with itself, and above the next.
        float gathered[3] = {0.f, 0.f, 0.f};
        if (inside && pixel < width)
#pragma unroll
            for (int k = 0; k < 9; k++) {
                int p = pixel + k % 3 - 1;
                if (p >= 0 && p < width) gathered[k / 3] += taps[p][k * 2 + o];
            }
        if (row - 1 >= top && pixel < width) {
            long long at = (((long long)sample * height + row - 1) * width + pixel) * 2 + o;
            float v = above + gathered[2];
            if (bias) v += bias[o];
            if (added) v += added[at];
            store(out + at, v);
        }
        above = here + gathered[1];
        here = gathered[0];
    }
}
#define NARROW(name, Out, GELU)                                                                                        \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        name(const bf16* x, const float* w, const float* bias, const float* added, const float* inner, Out* out,       \
             int height, int width, int turned) {                                                                      \
        narrow_in<Out, GELU>(x, w, bias, added, inner, out, height, width, turned);                                    \
    }
NARROW(narrow_image_f32, float, false)
NARROW(narrow_image_bf16, bf16, false)
NARROW(narrow_gelu_f32, float, true)

// The weight's gradient, for rows of at most SEGMENT pixels: with the shifted two channels as 18 rows and the BIG
// channels as columns, a product over all pixels. A block adds up some rows of the images and leaves its sums for
// `weight_sums`. Its warps have 32 channels each, so that together they read whole pixels; with few channels, SHARES warps
// share out the pixels of a row, sixteen at a time. `sign` says which way the two channels shift.
#define GROUPS (BIG / 32)
#define SHARES (GROUPS < 8 ? 8 / GROUPS : 1)
#define CHUNKS (SEGMENT / 16)
#define CHUNK_BYTES (16 * 64)
// Where chunk c of pixel p lies: they change places, so that the rows of a matrix lie in different banks.
__device__ __forceinline__ int in_chunk(int p, int c) { return p * 64 + ((c ^ ((p >> 1) & 3)) << 4); }

extern "C" __global__ void __launch_bounds__(32 * GROUPS * SHARES)
    weight_products(const bf16* big, const u32* two, float* partial, int lines, int height, int width, int sign) {
    // Chunks first, then the warps' sums [SHARES][18][BIG].
    __shared__ __align__(128) unsigned char pool[SHARES * 18 * BIG * 4];
    __shared__ u16 planes[2][3][SEGMENT + 4];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    const int group = warp % GROUPS, share = warp / GROUPS;
    unsigned char* mine = pool + warp * CHUNK_BYTES;
    const u32 at = (u32)__cvta_generic_to_shared(mine);
    // A lane's two pieces of a chunk of pixels: zeros outside.
    auto fetch = [&](uint4* v, int line, int chunk) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int p = lane / 4 + i * 8, pixel = chunk * 16 + p;
            const bf16* from = big + ((long long)line * width + pixel) * BIG + group * 32 + lane % 4 * 8;
            v[i] = line < lines && pixel < width ? *(const uint4*)from : make_uint4(0, 0, 0, 0);
        }
    };
    float sum[2][4][4];
#pragma unroll
    for (int i = 0; i < 32; i++) (&sum[0][0][0])[i] = 0.f;
    uint4 next[2];
    fetch(next, blockIdx.x, share);
    for (int line = blockIdx.x; line < lines; line += gridDim.x) {
        const int row = line % height;
        __syncthreads();
        for (int i = threadIdx.x; i < 3 * (SEGMENT + 2); i += blockDim.x) {
            int r = i / (SEGMENT + 2), c = i % (SEGMENT + 2) - 1;
            bool inside = row + r - 1 >= 0 && row + r - 1 < height && c >= 0 && c < width;
            u32 v = inside ? two[(long long)(line + r - 1) * width + c] : 0;
            planes[0][r][c + 1] = (u16)v, planes[1][r][c + 1] = (u16)(v >> 16);
        }
        __syncthreads();
        for (int chunk = share; chunk < CHUNKS; chunk += SHARES) {
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 2; i++) *(uint4*)(mine + in_chunk(lane / 4 + i * 8, lane % 4)) = next[i];
            const bool last = chunk + SHARES >= CHUNKS;
            fetch(next, last ? line + gridDim.x : line, last ? share : chunk + SHARES);
            __syncwarp();
            u32 a[2][4];
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    int index = m * 16 + g + (k & 1) * 8, tap = index >> 1;
                    a[m][k] = 0;
                    if (index < 18) {
                        const u16* plane = &planes[index & 1][1 + sign * (tap / 3 - 1)]
                                                  [chunk * 16 + 2 * t + (k >> 1) * 8 + 1 + sign * (tap % 3 - 1)];
                        a[m][k] = (u32)plane[0] | (u32)plane[1] << 16;
                    }
                }
#pragma unroll
            for (int n = 0; n < 2; n++) {
                u32 b[4];
                matrices_transposed(at + in_chunk(lane & 15, n * 2 + (lane >> 4)), b);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    multiply(sum[m][2 * n], a[m], b[0], b[1]);
                    multiply(sum[m][2 * n + 1], a[m], b[2], b[3]);
                }
            }
        }
    }
    __syncthreads();
    float* sums = (float*)pool;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                int index = m * 16 + g + (k >> 1) * 8;
                if (index < 18) sums[(share * 18 + index) * BIG + group * 32 + n * 8 + 2 * t + (k & 1)] = sum[m][n][k];
            }
    __syncthreads();
    for (int i = threadIdx.x; i < 18 * BIG; i += blockDim.x) {
        float total = 0.f;
#pragma unroll
        for (int k = 0; k < SHARES; k++) total += sums[k * 18 * BIG + i];
        partial[(long long)blockIdx.x * 18 * BIG + i] = total;
    }
}

// Adds up the blocks' sums for w[BIG, 2, 9], or w[2, BIG, 9] if `turned`: 32 numbers a block, a warp every 32nd sum.
extern "C" __global__ void __launch_bounds__(1024) weight_sums(const float* partial, float* into, int blocks, int turned,
                                                               int accumulate) {
    __shared__ float shared[32][32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, i = blockIdx.x * 32 + lane;
    float sum = 0.f;
#pragma unroll 8
    for (int b = warp; b < blocks; b += 32) sum += partial[(long long)b * 18 * BIG + i];
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp) return;
    int index = i / BIG, channel = i % BIG, tap = index >> 1, s = index & 1;
    float* to = into + (turned ? (s * BIG + channel) * 9 + tap : (channel * 2 + s) * 9 + tap);
    sum = accumulate ? *to : 0.f;
#pragma unroll
    for (int k = 0; k < 32; k++) sum += shared[k][lane];
    *to = sum;
}
