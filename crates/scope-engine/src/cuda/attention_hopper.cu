// Attention for TOKENS tokens (128 or 256) and heads of 64 on Hopper's tensor cores: four warps have 64 queries, and all
// their scores in registers, so that the softmax needs one pass.
//
// qkv [batch, TOKENS, 3 heads 64] bf16, out [batch, TOKENS, heads 64] bf16, log_sums [batch, heads, TOKENS] f32. Matrices in
// shared memory have rows of 64 numbers, 128 bytes, whose chunks change places (hopper.cu).

#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f
#define ROW 128
#define ALL (TOKENS * ROW)
#define TILE (64 * ROW)

// 64 rows of a result times a factor for each of the thread's two rows, to shared memory.
__device__ __forceinline__ void to_rows(const float* c, u32 tile, int warp, int lane, float low, float high) {
    const int row = warp * 16 + (lane & 15);
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
        const float* v = c + 4 * j;
        store_matrices(tile + row * ROW + (((j + (lane >> 4)) ^ (row & 7)) << 4), pack(v[0] * low, v[1] * low),
                       pack(v[2] * high, v[3] * high), pack(v[4] * low, v[5] * low), pack(v[6] * high, v[7] * high));
    }
}

// Blocks of four times four warps stay on their multiprocessors and take one head after another: the last four ask for queries, keys
// and values of the next head while the other groups share out this one's queries, 64 at a time. Shared memory: two times
// queries | keys | values, then barriers.
#define GROUPS 3
#define TILES (TOKENS / 64)
extern "C" __global__ void __launch_bounds__(128 * (GROUPS + 1), 1)
    attention(const __grid_constant__ TensorMap qkv, const __grid_constant__ TensorMap out, float* __restrict__ log_sums,
              int heads, int pairs, float scale) {
    const int lane = threadIdx.x & 31, group = threadIdx.x / 128, warp = threadIdx.x / 32 & 3;
    const u32 start = shared_start(), full = start + 6 * ALL, empty = full + 16;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) barrier_begin(full + 8 * i, 1), barrier_begin(empty + 8 * i, TILES);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    after_previous();
    if (group == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
        if (threadIdx.x != 128 * GROUPS) return;
        u32 turn = 0;
        for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x, turn++) {
            u32 which = turn & 1, q = start + which * 3 * ALL;
            barrier_wait(empty + 8 * which, (turn >> 1 & 1) ^ 1);
            barrier_expect(full + 8 * which, 3 * ALL);
#pragma unroll
            for (int part = 0; part < 3; part++)
                load_box(q + part * ALL, qkv, (part * heads + pair % heads) * 64, pair / heads * TOKENS, full + 8 * which);
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    const float sharpness = scale * LOG2E;
    for (int step = group;; step += GROUPS) {
        const int turn = step / TILES, tile = step % TILES, pair = blockIdx.x + turn * gridDim.x;
        if (pair >= pairs) break;
        const u32 which = turn & 1, q = start + which * 3 * ALL, k = q + ALL, v = k + ALL;
        barrier_wait(full + 8 * which, turn >> 1 & 1);
        float s[TOKENS / 128][64];
        products_begin();
#pragma unroll
        for (int d = 0; d < 4; d++)
#pragma unroll
            for (int half = 0; half < TOKENS / 128; half++)
                multiply_64x128<0>(s[half], matrix(q + tile * TILE + d * 32, 16, 1024),
                                   matrix(k + half * 2 * TILE + d * 32, 16, 1024), d);
        products_commit();
        products_wait<0>();
        u32 p[TOKENS / 16][4];
        float share[2];
#pragma unroll
        for (int row = 0; row < 2; row++) {
            float top = -1e30f, total = 0.f;
#pragma unroll
            for (int i = 0; i < TOKENS / 8; i++)
                top = fmaxf(top, fmaxf(s[i / 16][i % 16 * 4 + row * 2], s[i / 16][i % 16 * 4 + row * 2 + 1]));
            top = fmaxf(top, from_lane(top, 1));
            top = fmaxf(top, from_lane(top, 2));
            const float shift = top * sharpness;
#pragma unroll
            for (int i = 0; i < TOKENS / 8; i++) {
                float* x = s[i / 16] + i % 16 * 4 + row * 2;
                float a = exp2_fast(x[0] * sharpness - shift), b = exp2_fast(x[1] * sharpness - shift);
                total += a + b;
                p[i / 2][i % 2 * 2 + row] = pack(a, b);
            }
            total += from_lane(total, 1);
            total += from_lane(total, 2);
            share[row] = 1.f / total;
            if ((lane & 3) == 0)
                log_sums[(size_t)pair * TOKENS + tile * 64 + warp * 16 + row * 8 + lane / 4] = (shift + log2_fast(total)) * LN2;
        }
        float o[32];
        products_begin();
#pragma unroll
        for (int i = 0; i < TOKENS / 16; i++) multiply_64x64(o, p[i], matrix(v + i * 2048, 16, 1024), i);
        products_commit();
        products_wait<0>();
        // These queries are done with: the result takes their place on its way out.
        to_rows(o, q + tile * TILE, warp, lane, share[0], share[1]);
        publish();
        meet(1 + group, 128);
        if (threadIdx.x % 128 == 0) {
            store_box(q + tile * TILE, out, pair % heads * 64, pair / heads * TOKENS + tile * 64);
            commit_stores();
            await_stores<0>();
            barrier_arrive(empty + 8 * which);
        }
    }
}

// A block a head, two groups of four warps, each with half of the keys, 64 at a time. Shared memory: queries | keys | values |
// gradient of out | the transposed gradients of 128 queries' scores, 64 a box | log sums | D = rowsum(do o) | sums | barriers.
//
// Rounds of 128 queries: each group finds P^T and dS^T of its keys, adds to its dV = P^T do and dK = dS^T q from registers, and
// leaves dS^T in shared memory; then each group finds 64 rows of dQ = dS k. The rows of dK add up to zero, as softmax does not see
// a shift of all keys; what rounding leaves of their sum is taken off, or else keys and queries would grow along it unseen.
#define SCORES (4 * ALL)
#define LOGS (SCORES + 2 * ALL)
#define DELTAS (LOGS + TOKENS * 4)
#define COLUMNS (DELTAS + TOKENS * 4)     // [3][8 warps][64]
#define ARRIVED (COLUMNS + 3 * 8 * 64 * 4)
#define ROUNDS (TOKENS / 128)
#define OWN (TOKENS / 128)                // tiles of keys of a group

// Adds a tile's columns, times a factor, to the warp's sums of them: over rows, that is lanes with equal t.
__device__ __forceinline__ void add_columns(const float* c, float* sums, int lane, float factor, bool first) {
    float x[16];
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = (c[i / 2 * 4 + i % 2] + c[i / 2 * 4 + 2 + i % 2]) * factor;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float send = lane & 16 ? x[i] : x[i + 8], keep = lane & 16 ? x[i + 8] : x[i];
        x[i] = keep + from_lane(send, 16);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float send = lane & 8 ? x[i] : x[i + 4], keep = lane & 8 ? x[i + 4] : x[i];
        x[i] = keep + from_lane(send, 8);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float send = lane & 4 ? x[i] : x[i + 2], keep = lane & 4 ? x[i + 2] : x[i];
        x[i] = keep + from_lane(send, 4);
    }
    // Of the thread's sixteen sums, in order of columns, these two are left.
    float* to = sums + ((lane & 16) / 2 + (lane & 8) / 2 + (lane & 4) / 2) / 2 * 8 + (lane & 3) * 2;
    to[0] = (first ? 0.f : to[0]) + x[0], to[1] = (first ? 0.f : to[1]) + x[1];
}

extern "C" __global__ void __launch_bounds__(256, 1)
    attention_back(const __grid_constant__ TensorMap qkv, const __grid_constant__ TensorMap dout,
                   const __grid_constant__ TensorMap dqkv, const bf16* __restrict__ out, const bf16* __restrict__ gradient,
                   const float* __restrict__ log_sums, float* __restrict__ partial, int heads, float scale) {
    const int lane = threadIdx.x & 31, group = threadIdx.x / 128, warp = threadIdx.x / 32 & 3, pair = blockIdx.x;
    const int width = heads * 64, head = pair % heads * 64, line = pair / heads * TOKENS;
    const u32 q = shared_start(), k = q + ALL, v = q + 2 * ALL, g = q + 3 * ALL, scores = q + SCORES, arrived = q + ARRIVED;
    float *logs = (float*)(memory + LOGS), *deltas = (float*)(memory + DELTAS), *columns = (float*)(memory + COLUMNS);
    if (threadIdx.x == 0) {
        for (int i = 0; i < ROUNDS; i++) barrier_begin(arrived + 8 * i, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    after_previous();
    if (threadIdx.x == 0) {
        // Boxes of 128 rows: what the first round needs comes first.
        for (int i = 0; i < ROUNDS; i++) {
            barrier_expect(arrived + 8 * i, i == 0 ? 2 * ALL + 4 * TILE : 4 * TILE);
            load_box(q + i * 2 * TILE, qkv, head, line + i * 128, arrived + 8 * i);
            for (int j = 0; i == 0 && j < ROUNDS; j++) load_box(k + j * 2 * TILE, qkv, width + head, line + j * 128, arrived);
            load_box(g + i * 2 * TILE, dout, head, line + i * 128, arrived + 8 * i);
            for (int j = 0; i == 0 && j < ROUNDS; j++) load_box(v + j * 2 * TILE, qkv, 2 * width + head, line + j * 128, arrived);
        }
    }
    // Eight lanes have a row.
#pragma unroll
    for (int i = 0; i < TOKENS * 8 / 256; i++) {
        int row = threadIdx.x / 8 + i * 32;
        size_t at = (size_t)(line + row) * width + head + threadIdx.x % 8 * 8;
        Vector<8> a, b;
        a.load(out + at), b.load(gradient + at);
        float d = 0.f;
#pragma unroll
        for (int e = 0; e < 8; e++) d = fmaf(a.x[e], b.x[e], d);
        d += from_lane(d, 1);
        d += from_lane(d, 2);
        d += from_lane(d, 4);
        if (lane % 8 == 0) deltas[row] = d;
    }
    for (int i = threadIdx.x; i < TOKENS; i += 256) logs[i] = log_sums[(size_t)pair * TOKENS + i] * LOG2E;
    __syncthreads();
    const float sharpness = scale * LOG2E;
    const int t = lane & 3;
    float dk[OWN][32], dv[OWN][32];
    for (int round = 0; round < ROUNDS; round++) {
        barrier_wait(arrived + 8 * round, 0);
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            const int keys = group * OWN + own;
#pragma unroll 1
            for (int half = 0; half < 2; half++) {
                const int queries = round * 2 + half;
                float s[32], dp[32];
                products_begin();
#pragma unroll
                for (int d = 0; d < 4; d++) {
                    multiply_64x64<0, 0>(s, matrix(k + keys * TILE + d * 32, 16, 1024), matrix(q + queries * TILE + d * 32, 16, 1024), d);
                    multiply_64x64<0, 0>(dp, matrix(v + keys * TILE + d * 32, 16, 1024), matrix(g + queries * TILE + d * 32, 16, 1024), d);
                }
                products_commit();
                products_wait<0>();
                u32 p[4][4], ds[4][4];
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    const float2 log = *(const float2*)(logs + queries * 64 + j * 8 + 2 * t);
                    const float2 delta = *(const float2*)(deltas + queries * 64 + j * 8 + 2 * t);
#pragma unroll
                    for (int row = 0; row < 2; row++) {
                        const int i = j * 4 + row * 2;
                        float a = exp2_fast(s[i] * sharpness - log.x), b = exp2_fast(s[i + 1] * sharpness - log.y);
                        p[j / 2][j % 2 * 2 + row] = pack(a, b);
                        ds[j / 2][j % 2 * 2 + row] = pack(a * (dp[i] - delta.x), b * (dp[i + 1] - delta.y));
                    }
                }
                const int row = keys * 64 + warp * 16 + (lane & 15);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    store_matrices(scores + half * ALL + row * ROW + (((2 * i + (lane >> 4)) ^ (row & 7)) << 4), ds[i][0], ds[i][1],
                                   ds[i][2], ds[i][3]);
                products_begin();
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    multiply_64x64(dv[own], p[i], matrix(g + queries * TILE + i * 2048, 16, 1024), round + half + i);
                    multiply_64x64(dk[own], ds[i], matrix(q + queries * TILE + i * 2048, 16, 1024), round + half + i);
                }
                products_commit();
                products_wait<0>();
            }
        }
        publish();
        __syncthreads();
        const int queries = round * 2 + group;
        float dq[32];
        products_begin();
#pragma unroll
        for (int i = 0; i < TOKENS / 16; i++)
            multiply_64x64<1, 1>(dq, matrix(scores + group * ALL + i * 2048, 16, 1024), matrix(k + i * 2048, 16, 1024), i);
        products_commit();
        products_wait<0>();
        // These queries are done with: their gradient takes their place on its way out.
        to_rows(dq, q + queries * TILE, warp, lane, scale, scale);
        add_columns(dq, columns + (group * 4 + warp) * 64, lane, scale, round == 0);
        publish();
        __syncthreads();
        if (threadIdx.x % 128 == 0) {
            store_box(q + queries * TILE, dqkv, head, line + queries * 64);
            commit_stores();
        }
    }
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        add_columns(dk[own], columns + (8 + group * 4 + warp) * 64, lane, 1.f, own == 0);
        add_columns(dv[own], columns + (16 + group * 4 + warp) * 64, lane, 1.f, own == 0);
    }
    __syncthreads();
    float* means = logs;
    if (threadIdx.x < 64) {
        float sum = 0.f;
#pragma unroll
        for (int w = 8; w < 16; w++) sum += columns[w * 64 + threadIdx.x];
        means[threadIdx.x] = sum / TOKENS;
    }
    __syncthreads();
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const int keys = group * OWN + own;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 mean = *(const float2*)(means + j * 8 + 2 * t);
            dk[own][j * 4] -= mean.x, dk[own][j * 4 + 1] -= mean.y;
            dk[own][j * 4 + 2] -= mean.x, dk[own][j * 4 + 3] -= mean.y;
        }
        to_rows(dk[own], k + keys * TILE, warp, lane, scale, scale);
        to_rows(dv[own], v + keys * TILE, warp, lane, 1.f, 1.f);
    }
    publish();
    __syncthreads();
    if (threadIdx.x % 128 == 0) {
        for (int own = 0; own < OWN; own++) {
            const int keys = group * OWN + own;
            store_box(k + keys * TILE, dqkv, width + head, line + keys * 64);
            store_box(v + keys * TILE, dqkv, 2 * width + head, line + keys * 64);
        }
        commit_stores();
    }
    if (threadIdx.x < 192) {
        const float* from = columns + threadIdx.x / 64 * 512 + threadIdx.x % 64;
        float sum = 0.f;
#pragma unroll
        for (int w = 0; w < 8; w++) sum += from[w * 64];
        if (threadIdx.x / 64 == 1) sum = 0.f;
        partial[(size_t)(pair / heads) * 3 * width + threadIdx.x / 64 * width + head + threadIdx.x % 64] = sum;
    }
    if (threadIdx.x % 128 == 0) await_stores<0>();
}
