// Attention for any number of tokens and any head size: a block a row, plain and slow.
//
// qkv [batch, tokens, 3 heads size]; blockIdx.x counts (batch, head, row); scores of a row live in shared memory.

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

template <typename T>
__device__ __forceinline__ void forward(const T* qkv, T* out, float* log_sums, Sizes s, float scale) {
    __shared__ float shared;
    int pair = blockIdx.x / s.tokens, row = blockIdx.x % s.tokens, width = s.heads * s.size;
    const T* q = qkv + place(s, pair, row);
    float sum = 0.f, most = -1e30f;
    for (int j = threadIdx.x; j < s.tokens; j += blockDim.x) {
        float score = inner(q, qkv + place(s, pair, j) + width, s.size) * scale;
        row_of_scores[j] = score;
    }
    __syncthreads();
    for (int j = 0; j < s.tokens; j++) most = fmaxf(most, row_of_scores[j]);
    for (int j = threadIdx.x; j < s.tokens; j += blockDim.x) sum += __expf(row_of_scores[j] - most);
    sum = block_sum(sum);
    if (threadIdx.x == 0) shared = most + logf(sum), log_sums[blockIdx.x] = shared;
    __syncthreads();
    for (int d = threadIdx.x; d < s.size; d += blockDim.x) {
        float o = 0.f;
        for (int j = 0; j < s.tokens; j++)
            o = fmaf(__expf(row_of_scores[j] - shared), load(qkv + place(s, pair, j) + 2 * width + d), o);
        store(out + place_out(s, pair, row) + d, o);
    }
}

// With P the softmax, s = 1 / sqrt d and D = rowsum(do o): dS = P (do v^T - D), dq = s dS k.
template <typename T>
__device__ __forceinline__ void query_gradient(const T* qkv, const T* out, const T* dout, const float* log_sums,
                                               float* deltas, T* dqkv, Sizes s, float scale) {
    int pair = blockIdx.x / s.tokens, row = blockIdx.x % s.tokens, width = s.heads * s.size;
    const T *q = qkv + place(s, pair, row), *g = dout + place_out(s, pair, row);
    float delta = inner(g, out + place_out(s, pair, row), s.size);
    if (threadIdx.x == 0) deltas[blockIdx.x] = delta;
    for (int j = threadIdx.x; j < s.tokens; j += blockDim.x) {
        const T* k = qkv + place(s, pair, j) + width;
        float p = __expf(inner(q, k, s.size) * scale - log_sums[blockIdx.x]);
        row_of_scores[j] = p * (inner(g, k + width, s.size) - delta);
    }
    __syncthreads();
    for (int d = threadIdx.x; d < s.size; d += blockDim.x) {
        float dq = 0.f;
        for (int j = 0; j < s.tokens; j++) dq = fmaf(row_of_scores[j], load(qkv + place(s, pair, j) + width + d), dq);
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
    extern "C" __global__ void queries_##kind(const T* qkv, const T* out, const T* dout, const float* log_sums,        \
                                              float* deltas, T* dqkv, int tokens, int heads, int size, float scale) {  \
        query_gradient(qkv, out, dout, log_sums, deltas, dqkv, Sizes{tokens, heads, size}, scale);                     \
    }                                                                                                                  \
    extern "C" __global__ void keys_##kind(const T* qkv, const T* dout, const float* log_sums, const float* deltas,    \
                                           T* dqkv, int tokens, int heads, int size, float scale) {                   \
        key_gradient(qkv, dout, log_sums, deltas, dqkv, Sizes{tokens, heads, size}, scale);                            \
    }
ATTENTION(bf16, bf16)
ATTENTION(f32, float)
