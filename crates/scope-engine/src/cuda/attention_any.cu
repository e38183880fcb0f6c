// Attention for any number of tokens and any head size, in f32 throughout: what the tensor cores do not take.
//
// qkv [batch, tokens, 3 heads size]. Forward, a block has ROWS queries of one head and goes through the keys TILE at a time, with running
// maxima and sums. Backward is plain and slow: blockIdx.x counts (batch, head, row), and scores of a row live in shared memory.

#define ROWS 16
#define TILE 64

extern __shared__ float row_of_scores[];

struct Sizes {
    int tokens, heads, size;
    __device__ __forceinline__ long long stride() const { return 3ll * heads * size; }
};

// Where (batch, head, token) of the queries begins; keys and values lie `heads size` and twice that further.
__device__ __forceinline__ long long place(Sizes s, int pair, int token) {
    return ((long long)(pair / s.heads) * s.tokens + token) * s.stride() + (pair % s.heads) * s.size;
}
__device__ __forceinline__ long long place_out(Sizes s, int pair, int token) {
    return (((long long)(pair / s.heads) * s.tokens + token) * s.heads + pair % s.heads) * s.size;
}

template <typename T> __device__ __forceinline__ float inner(const T* a, const T* b, int size) {
    float sum = 0.f;
    for (int d = 0; d < size; d++) sum = fmaf(load(a + d), load(b + d), sum);
    return sum;
}

// TILE numbers from `d` on of tokens from `first` on; zero beyond the last ones.
template <typename T>
__device__ __forceinline__ void read(float (*tile)[TILE + 1], int rows, const T* from, Sizes s, int first, int d) {
    for (int i = threadIdx.x; i < rows * TILE; i += blockDim.x) {
        int row = i / TILE, column = i % TILE;
        bool there = first + row < s.tokens && d + column < s.size;
        tile[row][column] = there ? load(from + (first + row) * s.stride() + d + column) : 0.f;
    }
}

// What a block of 4 TILE threads keeps; a thread has four rows of one column.
struct Rows {
    float query[ROWS][TILE + 1], tile[TILE][TILE + 1], scores[ROWS][TILE];
    float most[ROWS], sum[ROWS], shrink[ROWS];
};

// Scores of the block's queries with TILE keys; beyond the last key none has a weight.
template <typename T>
__device__ __forceinline__ void score(Rows& b, const T* qkv, Sizes s, int begin, int key, float scale) {
    int column = threadIdx.x % TILE, row = threadIdx.x / TILE * 4;
    float sums[4] = {};
    for (int d = 0; d < s.size; d += TILE) {
        __syncthreads();
        read(b.query, ROWS, qkv, s, begin, d);
        read(b.tile, TILE, qkv + s.heads * s.size, s, key, d);
        __syncthreads();
#pragma unroll 16
        for (int k = 0; k < TILE; k++)
            for (int r = 0; r < 4; r++) sums[r] = fmaf(b.query[row + r][k], b.tile[column][k], sums[r]);
    }
    for (int r = 0; r < 4; r++) b.scores[row + r][column] = key + column < s.tokens ? sums[r] * scale : -1e30f;
    __syncthreads();
}

// Scores become weights relative to the largest score so far; sums so far shrink to it.
__device__ __forceinline__ void weigh(Rows& b) {
    int lane = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < ROWS; row += blockDim.x / 32) {
        float most = fmaxf(b.scores[row][lane], b.scores[row][lane + 32]), before = b.most[row];
        for (int step = 16; step; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
        most = fmaxf(most, before);
        float sum = 0.f;
        for (int j = lane; j < TILE; j += 32) sum += b.scores[row][j] = __expf(b.scores[row][j] - most);
        sum = warp_sum(sum);
        __syncwarp();
        if (lane == 0) {
            b.shrink[row] = __expf(before - most);
            b.most[row] = most, b.sum[row] = b.sum[row] * b.shrink[row] + sum;
        }
    }
}

template <typename T>
__device__ __forceinline__ void forward(const T* qkv, T* out, float* log_sums, Sizes s, float scale) {
    __shared__ Rows b;
    int blocks = (s.tokens + ROWS - 1) / ROWS, pair = blockIdx.x / blocks, begin = blockIdx.x % blocks * ROWS;
    int column = threadIdx.x % TILE, row = threadIdx.x / TILE * 4;
    const T* from = qkv + place(s, pair, 0);
    for (int d = 0; d < s.size; d += TILE) {
        if (threadIdx.x < ROWS) b.most[threadIdx.x] = -1e30f, b.sum[threadIdx.x] = 0.f;
        float sums[4] = {};
        for (int key = 0; key < s.tokens; key += TILE) {
            score(b, from, s, begin, key, scale);
            weigh(b);
            read(b.tile, TILE, from + 2 * s.heads * s.size, s, key, d);
            __syncthreads();
            for (int r = 0; r < 4; r++) sums[r] *= b.shrink[row + r];
#pragma unroll 16
            for (int k = 0; k < TILE; k++)
                for (int r = 0; r < 4; r++) sums[r] = fmaf(b.scores[row + r][k], b.tile[k][column], sums[r]);
        }
        for (int r = 0; r < 4 && begin + row + r < s.tokens; r++)
            if (d + column < s.size)
                store(out + place_out(s, pair, begin + row + r) + d + column, sums[r] / b.sum[row + r]);
        int own = threadIdx.x;
        if (d == 0 && own < ROWS && begin + own < s.tokens)
            log_sums[(long long)pair * s.tokens + begin + own] = b.most[own] + logf(b.sum[own]);
        __syncthreads();
    }
}

// With P the softmax, s = 1 / sqrt d and D = rowsum(P do v^T): dS = P (do v^T - D), dq = s dS k.
//
// D is rowsum(do o) too, but with a rounded o rows of dS do not sum to zero, and what is left pushes queries and keys along the mean key.
template <typename T>
__device__ __forceinline__ void query_gradient(const T* qkv, const T* dout, const float* log_sums, float* deltas, T* dqkv,
                                               Sizes s, float scale) {
    int pair = blockIdx.x / s.tokens, row = blockIdx.x % s.tokens, width = s.heads * s.size;
    const T *q = qkv + place(s, pair, row), *g = dout + place_out(s, pair, row);
    float *gains = row_of_scores + s.tokens, weights = 0.f, weighted = 0.f;
    for (int j = threadIdx.x; j < s.tokens; j += blockDim.x) {
        const T* k = qkv + place(s, pair, j) + width;
        float p = __expf(inner(q, k, s.size) * scale - log_sums[blockIdx.x]), gain = inner(g, k + width, s.size);
        row_of_scores[j] = p, gains[j] = gain;
        weights += p, weighted = fmaf(p, gain, weighted);
    }
    __shared__ float delta;
    weights = block_sum(weights), weighted = block_sum(weighted);
    if (threadIdx.x == 0) deltas[blockIdx.x] = delta = weighted / weights;
    __syncthreads();
    for (int d = threadIdx.x; d < s.size; d += blockDim.x) {
        float dq = 0.f;
        for (int j = 0; j < s.tokens; j++)
            dq = fmaf(row_of_scores[j] * (gains[j] - delta), load(qkv + place(s, pair, j) + width + d), dq);
        store(dqkv + place(s, pair, row) + d, dq * scale);
    }
}

// dk = s dS^T q and dv = P^T do, a block a key.
template <typename T>
__device__ __forceinline__ void key_gradient(const T* qkv, const T* dout, const float* log_sums, const float* deltas,
                                             T* dqkv, Sizes s, float scale) {
    int pair = blockIdx.x / s.tokens, row = blockIdx.x % s.tokens, width = s.heads * s.size;
    const T* k = qkv + place(s, pair, row) + width;
    float* shares = row_of_scores + s.tokens;
    for (int i = threadIdx.x; i < s.tokens; i += blockDim.x) {
        float p = __expf(inner(qkv + place(s, pair, i), k, s.size) * scale - log_sums[pair * s.tokens + i]);
        row_of_scores[i] = p;
        shares[i] = p * (inner(dout + place_out(s, pair, i), k + width, s.size) - deltas[pair * s.tokens + i]);
    }
    __syncthreads();
    for (int d = threadIdx.x; d < s.size; d += blockDim.x) {
        float dk = 0.f, dv = 0.f;
        for (int i = 0; i < s.tokens; i++) {
            dk = fmaf(shares[i], load(qkv + place(s, pair, i) + d), dk);
            dv = fmaf(row_of_scores[i], load(dout + place_out(s, pair, i) + d), dv);
        }
        store(dqkv + place(s, pair, row) + width + d, dk * scale);
        store(dqkv + place(s, pair, row) + 2 * width + d, dv);
    }
}

#define ATTENTION(kind, T)                                                                                             \
    extern "C" __global__ void attention_##kind(const T* qkv, T* out, float* log_sums, int tokens, int heads,          \
                                                int size, float scale) {                                              \
        forward(qkv, out, log_sums, Sizes{tokens, heads, size}, scale);                                                \
    }                                                                                                                  \
    extern "C" __global__ void queries_##kind(const T* qkv, const T* dout, const float* log_sums, float* deltas,       \
                                              T* dqkv, int tokens, int heads, int size, float scale) {                 \
        query_gradient(qkv, dout, log_sums, deltas, dqkv, Sizes{tokens, heads, size}, scale);                          \
    }                                                                                                                  \
    extern "C" __global__ void keys_##kind(const T* qkv, const T* dout, const float* log_sums, const float* deltas,    \
                                           T* dqkv, int tokens, int heads, int size, float scale) {                   \
        key_gradient(qkv, dout, log_sums, deltas, dqkv, Sizes{tokens, heads, size}, scale);                            \
    }
ATTENTION(bf16, bf16)
ATTENTION(f32, float)
