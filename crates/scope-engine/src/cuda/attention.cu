// Attention for REAL tokens in room for TOKENS (the next multiple of 64) and heads of size HEAD (32 or 64), compile-time
// constants: all keys and values of a head fit in shared memory, so scores never leave the chip. Beyond the real tokens
// queries, keys and values are zero, such keys have no weight, and nothing is written.
//
// qkv [batch, REAL, 3 heads HEAD] bf16, out [batch, REAL, heads HEAD] bf16, log_sums [batch, heads, REAL] f32.
// A warp computes 32 rows as two tiles of 16. In a fragment of a 16 x 8 result, lane 4 g + t holds rows g and g + 8,
// columns 2 t and 2 t + 1.

#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f
#define CHUNKS (HEAD / 8)         // 16-byte chunks of a row
#define STEPS (HEAD / 16)         // depth-16 steps over a head
#define ROW_BYTES (HEAD * 2)
#define TILE_BYTES (TOKENS * ROW_BYTES)
#ifndef REAL
#define REAL TOKENS
#endif
// Whether a token is one of the real ones: where there are no others, the compiler knows that it is.
#define IS_REAL(token) (REAL == TOKENS || (token) < REAL)

// Where chunk c of a row lies: chunks change places from row to row, so that the eight rows of a matrix lie in
// different banks.
__device__ __forceinline__ u32 at(int row, int c) {
    return (u32)(row * ROW_BYTES + ((c ^ (HEAD == 64 ? row & 7 : (row >> 1) & 3)) << 4));
}

struct Lane {
    int g, t, left_row, left_chunk, right_row, right_chunk;
    __device__ __forceinline__ explicit Lane(int lane)
        : g(lane >> 2), t(lane & 3), left_row(lane & 15), left_chunk(lane >> 4),
          right_row((lane & 7) + ((lane >> 4) << 3)), right_chunk((lane >> 3) & 1) {}
};

// Rows of a head into shared memory, where the first is that of token `token`.
template <int ROWS>
__device__ __forceinline__ void load_rows(u32 to, int first, const u16* from, size_t stride, int threads, int token = 0) {
    for (int i = threadIdx.x; i < ROWS * CHUNKS; i += threads) {
        int row = first + i / CHUNKS, c = i % CHUNKS;
        if (IS_REAL(token + row))
            copy_16(to + at(row, c), from + row * stride + c * 8);
        else
            *(uint4*)(memory + (to - shared_start()) + at(row, c)) = make_uint4(0, 0, 0, 0);
    }
}

// Sixteen rows of a warp's result, from that of token `token` on, times `low` and `high`: through the warp's own rows of a buffer in
// shared memory, in whole chunks.
__device__ __forceinline__ void store_rows(u32 area, int row, const float (*tile)[4], float low, float high, u16* to,
                                           size_t stride, int lane, int token) {
    int g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int n = 0; n < CHUNKS; n++) {
        *(u32*)(memory + area + at(row + g, n) + t * 4) = pack(tile[n][0] * low, tile[n][1] * low);
        *(u32*)(memory + area + at(row + g + 8, n) + t * 4) = pack(tile[n][2] * high, tile[n][3] * high);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < CHUNKS / 2; i++) {
        int r = (i * 32 + lane) / CHUNKS, c = lane % CHUNKS;
        if (IS_REAL(token + r)) *(uint4*)(to + r * stride + c * 8) = *(const uint4*)(memory + area + at(row + r, c));
    }
}

// grid (TOKENS / QUERIES, batch heads), a warp TILES tiles of sixteen queries. Shared memory: queries | keys | values.
// Small batches have one tile a warp, so that more multiprocessors have work.
#ifndef TILES
#define TILES 2
#endif
#ifndef QUERIES
#define QUERIES (TOKENS % 128 ? 64 : 128)
#endif
#define THREADS (QUERIES / TILES * 2)
extern "C" __global__ void __launch_bounds__(THREADS) attention(const u16* __restrict__ qkv, u16* __restrict__ out,
                                                                float* __restrict__ log_sums, int heads, float scale) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, pair = blockIdx.y, first = blockIdx.x * QUERIES;
    const size_t width = (size_t)heads * HEAD, stride = 3 * width;
    const u16* base = qkv + (size_t)(pair / heads) * REAL * stride + (pair % heads) * HEAD;
    const u32 q = shared_start(), k = q + QUERIES * ROW_BYTES, v = k + TILE_BYTES;
    after_previous();
    load_rows<QUERIES>(q, 0, base + first * stride, stride, THREADS, first);
    load_rows<TOKENS>(k, 0, base + width, stride, THREADS);
    commit_copies();
    load_rows<TOKENS>(v, 0, base + 2 * width, stride, THREADS);
    commit_copies();
    await_copies<1>();
    __syncthreads();
    const float sharpness = scale * LOG2E;
    const Lane l(lane);
    u32 qf[TILES][STEPS][4];
#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
        for (int s = 0; s < STEPS; s++) matrices(q + at(warp * 16 * TILES + m * 16 + l.left_row, s * 2 + l.left_chunk), qf[m][s]);
    float o[TILES][CHUNKS][4], most[TILES][2], sum[TILES][2];
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        most[m][0] = most[m][1] = -1e30f, sum[m][0] = sum[m][1] = 0.f;
#pragma unroll
        for (int n = 0; n < CHUNKS; n++) o[m][n][0] = o[m][n][1] = o[m][n][2] = o[m][n][3] = 0.f;
    }
    for (int block = 0; block < TOKENS / 64; block++) {
        float s[TILES][8][4];
#pragma unroll
        for (int i = 0; i < 32 * TILES; i++) (&s[0][0][0])[i] = 0.f;
#pragma unroll
        for (int d = 0; d < STEPS; d++)
#pragma unroll
            for (int n = 0; n < 4; n++) {
                u32 b[4];
                matrices(k + at(block * 64 + n * 16 + l.right_row, d * 2 + l.right_chunk), b);
#pragma unroll
                for (int m = 0; m < TILES; m++) {
                    multiply(s[m][2 * n], qf[m][d], b[0], b[1]);
                    multiply(s[m][2 * n + 1], qf[m][d], b[2], b[3]);
                }
            }
        if (block == 0) {
            await_copies<0>();
            __syncthreads();
        }
        if (REAL < TOKENS && block + 1 == TOKENS / 64)
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int side = 0; side < 2; side++)
                    if (!IS_REAL(block * 64 + n * 8 + 2 * l.t + side))
#pragma unroll
                        for (int m = 0; m < TILES; m++) s[m][n][side] = s[m][n][2 + side] = -1e30f;
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float top = most[m][half];
#pragma unroll
                for (int n = 0; n < 8; n++) top = fmaxf(top, fmaxf(s[m][n][half * 2], s[m][n][half * 2 + 1]));
                top = fmaxf(top, from_lane(top, 1));
                top = fmaxf(top, from_lane(top, 2));
                float shrink = exp2_fast((most[m][half] - top) * sharpness), shift = top * sharpness, added = 0.f;
                most[m][half] = top;
#pragma unroll
                for (int n = 0; n < 8; n++) {
                    float p0 = exp2_fast(s[m][n][half * 2] * sharpness - shift);
                    float p1 = exp2_fast(s[m][n][half * 2 + 1] * sharpness - shift);
                    s[m][n][half * 2] = p0, s[m][n][half * 2 + 1] = p1, added += p0 + p1;
                }
#pragma unroll
                for (int n = 0; n < CHUNKS; n++) o[m][n][half * 2] *= shrink, o[m][n][half * 2 + 1] *= shrink;
                sum[m][half] = sum[m][half] * shrink + added;
            }
#pragma unroll
        for (int n = 0; n < 4; n++) {
            u32 p[TILES][4];
#pragma unroll
            for (int m = 0; m < TILES; m++) {
                p[m][0] = pack(s[m][2 * n][0], s[m][2 * n][1]), p[m][1] = pack(s[m][2 * n][2], s[m][2 * n][3]);
                p[m][2] = pack(s[m][2 * n + 1][0], s[m][2 * n + 1][1]);
                p[m][3] = pack(s[m][2 * n + 1][2], s[m][2 * n + 1][3]);
            }
#pragma unroll
            for (int d = 0; d < STEPS; d++) {
                u32 b[4];
                matrices_transposed(v + at(block * 64 + n * 16 + l.left_row, d * 2 + l.left_chunk), b);
#pragma unroll
                for (int m = 0; m < TILES; m++) {
                    multiply(o[m][2 * d], p[m], b[0], b[1]);
                    multiply(o[m][2 * d + 1], p[m], b[2], b[3]);
                }
            }
        }
    }
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        float share[2];
        int row = warp * 16 * TILES + m * 16;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float total = sum[m][half];
            total += from_lane(total, 1);
            total += from_lane(total, 2);
            share[half] = 1.f / total;
            int token = first + row + half * 8 + l.g;
            if (l.t == 0 && IS_REAL(token))
                log_sums[(size_t)pair * REAL + token] = (most[m][half] * sharpness + log2_fast(total)) * LN2;
        }
        u16* to = out + ((size_t)(pair / heads) * REAL + first + row) * width + (pair % heads) * HEAD;
        store_rows(0, row, o[m], share[0], share[1], to, width, lane, first + row);
    }
}

// grid batch heads, TOKENS threads, each warp two tiles of sixteen keys. Shared memory: queries | keys | values | gradient of out |
// the transposed gradients of ROUND queries' scores | log sums | D = rowsum(do o).
//
// Rounds of ROUND queries: each warp finds P^T and dS^T of its keys, adds to its dV and dK, and leaves dS^T in shared
// memory; then the warps share out the rows of dQ = dS K. The rows of dK add up to zero, as softmax does not see a shift of all
// keys; what rounding leaves of their sum is taken off, or else keys and queries would grow along it unseen.
#define ROUND (TOKENS < 128 ? TOKENS : TOKENS % 128 ? 64 : 128)
#define SCORE_BYTES (ROUND * 2)
__device__ __forceinline__ u32 at_score(int key, int chunk) {
    return (u32)(key * SCORE_BYTES + ((chunk ^ (key & 7)) << 4));
}

// Takes the mean over all real rows, 32 a warp and the others zero, off each column. `room` has TOKENS / 32 + 1 rows of HEAD numbers.
__device__ __forceinline__ void take_off_mean(float (*tiles)[CHUNKS][4], float* room, int warp, const Lane& l) {
#pragma unroll
    for (int n = 0; n < CHUNKS; n++)
#pragma unroll
        for (int side = 0; side < 2; side++) {
            float sum = tiles[0][n][side] + tiles[0][n][side + 2] + tiles[1][n][side] + tiles[1][n][side + 2];
#pragma unroll
            for (int step = 4; step < 32; step <<= 1) sum += from_lane(sum, step);
            if (l.g == 0) room[warp * HEAD + n * 8 + 2 * l.t + side] = sum;
        }
    __syncthreads();
    float* means = room + TOKENS / 32 * HEAD;
    if (threadIdx.x < HEAD) {
        float sum = 0.f;
        for (int w = 0; w < TOKENS / 32; w++) sum += room[w * HEAD + threadIdx.x];
        means[threadIdx.x] = sum / REAL;
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < CHUNKS; n++) {
        const float2 mean = *(const float2*)(means + n * 8 + 2 * l.t);
#pragma unroll
        for (int m = 0; m < 2; m++) {
            tiles[m][n][0] -= mean.x, tiles[m][n][1] -= mean.y;
            tiles[m][n][2] -= mean.x, tiles[m][n][3] -= mean.y;
        }
    }
}

extern "C" __global__ void __launch_bounds__(TOKENS, 1)
    attention_back(const u16* __restrict__ qkv, const u16* __restrict__ out, const u16* __restrict__ dout,
                   const float* __restrict__ log_sums, u16* __restrict__ dqkv, int heads, float scale) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, pair = blockIdx.x;
    const size_t width = (size_t)heads * HEAD, stride = 3 * width;
    const size_t start = (size_t)(pair / heads) * REAL * stride + (pair % heads) * HEAD;
    const size_t start_out = (size_t)(pair / heads) * REAL * width + (pair % heads) * HEAD;
    const u32 q = shared_start(), k = q + TILE_BYTES, v = q + 2 * TILE_BYTES, g = q + 3 * TILE_BYTES;
    const u32 scores = q + 4 * TILE_BYTES;
    after_previous();
    float* logs = (float*)(memory + 4 * TILE_BYTES + TOKENS * SCORE_BYTES);
    float* deltas = logs + TOKENS;
    load_rows<TOKENS>(k, 0, qkv + start + width, stride, TOKENS);
    load_rows<TOKENS>(v, 0, qkv + start + 2 * width, stride, TOKENS);
    for (int round = 0; round < TOKENS / ROUND; round++) {
        load_rows<ROUND>(q, round * ROUND, qkv + start, stride, TOKENS);
        load_rows<ROUND>(g, round * ROUND, dout + start_out, width, TOKENS);
        commit_copies();
    }
    logs[threadIdx.x] = IS_REAL(threadIdx.x) ? log_sums[(size_t)pair * REAL + threadIdx.x] * LOG2E : 0.f;
    const float sharpness = scale * LOG2E;
    const Lane l(lane);
    u32 kf[2][STEPS][4];
    float dk[2][CHUNKS][4], dv[2][CHUNKS][4];
#pragma unroll
    for (int i = 0; i < 2 * CHUNKS * 4; i++) (&dk[0][0][0])[i] = (&dv[0][0][0])[i] = 0.f;
    for (int round = 0; round < TOKENS / ROUND; round++) {
        if (round + 1 < TOKENS / ROUND)
            await_copies<1>();
        else
            await_copies<0>();
        __syncthreads();
        if (round == 0)
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int s = 0; s < STEPS; s++)
                    matrices(k + at(warp * 32 + m * 16 + l.left_row, s * 2 + l.left_chunk), kf[m][s]);
        for (int i = threadIdx.x; i < ROUND * CHUNKS; i += TOKENS) {
            int row = round * ROUND + i / CHUNKS, c = i % CHUNKS;
            uint4 a = *(const uint4*)(memory + 3 * TILE_BYTES + at(row, c));
            uint4 b = IS_REAL(row) ? *(const uint4*)(out + start_out + row * width + c * 8) : make_uint4(0, 0, 0, 0);
            float d = low_half(a.x) * low_half(b.x) + high_half(a.x) * high_half(b.x) + low_half(a.y) * low_half(b.y) +
                      high_half(a.y) * high_half(b.y) + low_half(a.z) * low_half(b.z) + high_half(a.z) * high_half(b.z) +
                      low_half(a.w) * low_half(b.w) + high_half(a.w) * high_half(b.w);
#pragma unroll
            for (int step = 1; step < CHUNKS; step <<= 1) d += from_lane(d, step);
            if (c == 0) deltas[row] = d;
        }
        __syncthreads();
        for (int tile = 0; tile < ROUND / 16; tile++) {
            const int row = round * ROUND + tile * 16;
            float s[2][2][4], dp[2][2][4];
#pragma unroll
            for (int i = 0; i < 16; i++) (&s[0][0][0])[i] = (&dp[0][0][0])[i] = 0.f;
#pragma unroll
            for (int d = 0; d < STEPS; d++) {
                u32 b[4], c[4];
                matrices(q + at(row + l.right_row, d * 2 + l.right_chunk), b);
                matrices(g + at(row + l.right_row, d * 2 + l.right_chunk), c);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    u32 vf[4];
                    matrices(v + at(warp * 32 + m * 16 + l.left_row, d * 2 + l.left_chunk), vf);
                    multiply(s[m][0], kf[m][d], b[0], b[1]);
                    multiply(s[m][1], kf[m][d], b[2], b[3]);
                    multiply(dp[m][0], vf, c[0], c[1]);
                    multiply(dp[m][1], vf, c[2], c[3]);
                }
            }
            u32 p[2][4], ds[2][4];
#pragma unroll
            for (int n = 0; n < 2; n++) {
                float2 log = *(const float2*)(logs + row + n * 8 + 2 * l.t);
                float2 delta = *(const float2*)(deltas + row + n * 8 + 2 * l.t);
#pragma unroll
                for (int m = 0; m < 2; m++)
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        float p0 = exp2_fast(s[m][n][half * 2] * sharpness - log.x);
                        float p1 = exp2_fast(s[m][n][half * 2 + 1] * sharpness - log.y);
                        int key = warp * 32 + m * 16 + half * 8 + l.g;
                        if (!IS_REAL(key)) p0 = p1 = 0.f;
                        u32 d = pack(p0 * (dp[m][n][half * 2] - delta.x), p1 * (dp[m][n][half * 2 + 1] - delta.y));
                        p[m][n * 2 + half] = pack(p0, p1);
                        ds[m][n * 2 + half] = d;
                        *(u32*)(memory + 4 * TILE_BYTES + at_score(key, tile * 2 + n) + l.t * 4) = d;
                    }
            }
#pragma unroll
            for (int d = 0; d < STEPS; d++) {
                u32 b[4];
                matrices_transposed(g + at(row + l.left_row, d * 2 + l.left_chunk), b);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    multiply(dv[m][2 * d], p[m], b[0], b[1]);
                    multiply(dv[m][2 * d + 1], p[m], b[2], b[3]);
                }
                matrices_transposed(q + at(row + l.left_row, d * 2 + l.left_chunk), b);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    multiply(dk[m][2 * d], ds[m], b[0], b[1]);
                    multiply(dk[m][2 * d + 1], ds[m], b[2], b[3]);
                }
            }
        }
        __syncthreads();
        for (int tile = warp; tile < ROUND / 16; tile += TOKENS / 32) {
            float dq[CHUNKS][4];
#pragma unroll
            for (int n = 0; n < CHUNKS; n++) dq[n][0] = dq[n][1] = dq[n][2] = dq[n][3] = 0.f;
#pragma unroll 4
            for (int block = 0; block < TOKENS / 16; block++) {
                u32 a[4];
                matrices_transposed(scores + at_score(block * 16 + l.right_row, tile * 2 + l.right_chunk), a);
#pragma unroll
                for (int d = 0; d < STEPS; d++) {
                    u32 b[4];
                    matrices_transposed(k + at(block * 16 + l.left_row, d * 2 + l.left_chunk), b);
                    multiply(dq[2 * d], a, b[0], b[1]);
                    multiply(dq[2 * d + 1], a, b[2], b[3]);
                }
            }
            int row = round * ROUND + tile * 16;
            store_rows(0, row, dq, scale, scale, dqkv + start + row * stride, stride, lane, row);
        }
    }
    __syncthreads();
    take_off_mean(dk, (float*)(memory + 4 * TILE_BYTES), warp, l);
#pragma unroll
    for (int m = 0; m < 2; m++) {
        int row = warp * 32 + m * 16;
        u16* to = dqkv + start + row * stride;
        store_rows(TILE_BYTES, row, dk[m], scale, scale, to + width, stride, lane, row);
        store_rows(2 * TILE_BYTES, row, dv[m], 1.f, 1.f, to + 2 * width, stride, lane, row);
    }
}
