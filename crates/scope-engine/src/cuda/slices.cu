// Slices of pixels. HEADS heads, S slices and D numbers a head are known when this is compiled. Weights are
// [batch, pixels, HEADS, S], values [batch, pixels, HEADS, D], tokens [batch, HEADS, S, D].

__device__ __forceinline__ float bounded(float t) { return fminf(fmaxf(t, 0.1f), 5.f); }

// softmax over slices of logits / temperature. A warp a row.
template <typename T>
__device__ __forceinline__ void weights_in(const float* logits, const float* temperature, T* out, long long rows) {
    long long row = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    constexpr int EACH = (S + 31) / 32;
    float scale = 1.44269504f / bounded(temperature[row % HEADS]), v[EACH], most = -3.4e38f, sum = 0.f;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        v[k] = lane + 32 * k < S ? logits[row * S + lane + 32 * k] * scale : -3.4e38f;
        most = fmaxf(most, v[k]);
    }
#pragma unroll
    for (int step = 16; step; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        v[k] = lane + 32 * k < S ? exp2f(v[k] - most) : 0.f;
        sum += v[k];
    }
    sum = warp_sum(sum);
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (lane + 32 * k < S) store(out + row * S + lane + 32 * k, v[k] / sum);
}
extern "C" __global__ void weights_bf16(const float* l, const float* t, bf16* out, long long rows) { weights_in(l, t, out, rows); }
extern "C" __global__ void weights_f32(const float* l, const float* t, float* out, long long rows) { weights_in(l, t, out, rows); }

// dl = e / t with e = w (dw - sum of w dw). Warp k of all has head k % HEADS, and leaves its sum of e ln w.
template <typename T>
__device__ __forceinline__ void weights_back_in(const T* w, const T* dw, const float* temperature, T* dl, float* partial,
                                                long long pixels) {
    long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32, warps = gridDim.x * (long long)blockDim.x / 32;
    int lane = threadIdx.x % 32, head = (int)(warp % HEADS);
    constexpr int EACH = (S + 31) / 32;
    float scale = 1.f / bounded(temperature[head]), total = 0.f;
    for (long long pixel = warp / HEADS; pixel < pixels; pixel += warps / HEADS) {
        long long at = (pixel * HEADS + head) * S;
        float a[EACH], b[EACH], mean = 0.f;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            bool inside = lane + 32 * k < S;
            a[k] = inside ? load(w + at + lane + 32 * k) : 0.f;
            b[k] = inside ? load(dw + at + lane + 32 * k) : 0.f;
            mean = fmaf(a[k], b[k], mean);
        }
        mean = warp_sum(mean);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            float e = a[k] * (b[k] - mean);
            if (a[k] > 0.f) total = fmaf(e, logf(a[k]), total);
            if (lane + 32 * k < S) store(dl + at + lane + 32 * k, e * scale);
        }
    }
    total = warp_sum(total);
    if (lane == 0) partial[warp] = total;
}
extern "C" __global__ void weights_back_bf16(const bf16* w, const bf16* dw, const float* t, bf16* dl, float* partial, long long pixels) {
    weights_back_in(w, dw, t, dl, partial, pixels);
}
extern "C" __global__ void weights_back_f32(const float* w, const float* dw, const float* t, float* dl, float* partial, long long pixels) {
    weights_back_in(w, dw, t, dl, partial, pixels);
}
// The temperatures' gradients from the warps' sums. A thread a head.
extern "C" __global__ void temperature_back(const float* partial, const float* temperature, float* gradient, int warps, int accumulate) {
    int head = threadIdx.x;
    if (head >= HEADS) return;
    double sum = 0.;
    for (int k = head; k < warps; k += HEADS) sum += partial[k];
    float t = temperature[head], value = t >= 0.1f && t <= 5.f ? (float)(-sum / t) : 0.f;
    gradient[head] = value + (accumulate ? gradient[head] : 0.f);
}

// The sum over a piece of the pixels of w f for each slice and number, and of w. Eight by four lanes of a warp share the
// slices and the numbers; the eight warps of a block share the pixels. A block a (sample, head) and a piece.
constexpr int SA = (S + 7) / 8, DA = (D + 3) / 4;
template <typename T>
__device__ __forceinline__ void gather_in(const T* w, const T* f, float* partial, int pixels, int pieces) {
    extern __shared__ float shared[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, s0 = lane / 4, d0 = lane % 4;
    long long sample = blockIdx.x / HEADS;
    int head = blockIdx.x % HEADS;
    float sums[SA][DA] = {}, totals[SA] = {};
    for (int n = blockIdx.y * 8 + warp; n < pixels; n += pieces * 8) {
        long long at = (sample * pixels + n) * HEADS + head;
        float a[SA], b[DA];
#pragma unroll
        for (int k = 0; k < SA; k++) a[k] = s0 + 8 * k < S ? load(w + at * S + s0 + 8 * k) : 0.f;
#pragma unroll
        for (int k = 0; k < DA; k++) b[k] = d0 + 4 * k < D ? load(f + at * D + d0 + 4 * k) : 0.f;
#pragma unroll
        for (int i = 0; i < SA; i++) {
            totals[i] += a[i];
#pragma unroll
            for (int j = 0; j < DA; j++) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
    }
    // Each warp's sums [S, D + 1], the weights' own sum last, then the warps' in order.
    float* mine = shared + warp * S * (D + 1);
#pragma unroll
    for (int i = 0; i < SA; i++) {
        int s = s0 + 8 * i;
        if (s >= S) break;
#pragma unroll
        for (int j = 0; j < DA; j++)
            if (d0 + 4 * j < D) mine[s * (D + 1) + d0 + 4 * j] = sums[i][j];
        if (d0 == 0) mine[s * (D + 1) + D] = totals[i];
    }
    __syncthreads();
    for (int k = threadIdx.x; k < S * (D + 1); k += 256) {
        float sum = 0.f;
        for (int other = 0; other < 8; other++) sum += shared[other * S * (D + 1) + k];
        partial[(blockIdx.x * (long long)pieces + blockIdx.y) * S * (D + 1) + k] = sum;
    }
}
extern "C" __global__ void __launch_bounds__(256) gather_bf16(const bf16* w, const bf16* f, float* partial, int pixels, int pieces) {
    gather_in(w, f, partial, pixels, pieces);
}
extern "C" __global__ void __launch_bounds__(256) gather_f32(const float* w, const float* f, float* partial, int pixels, int pieces) {
    gather_in(w, f, partial, pixels, pieces);
}
// The pieces added up; divided by the weights' sum, which is kept, if asked.
extern "C" __global__ void gather_finish(const float* partial, float* out, float* totals, int pieces, float epsilon) {
    const float* mine = partial + blockIdx.x * (long long)pieces * S * (D + 1);
    for (int k = threadIdx.x; k < S * D; k += blockDim.x) {
        int s = k / D;
        float sum = 0.f, total = 0.f;
        for (int piece = 0; piece < pieces; piece++) {
            sum += mine[piece * S * (D + 1) + s * (D + 1) + k % D];
            total += mine[piece * S * (D + 1) + s * (D + 1) + D];
        }
        out[blockIdx.x * (long long)S * D + k] = totals ? sum / (total + epsilon) : sum;
        if (totals && k % D == 0) totals[blockIdx.x * (long long)S + s] = total;
    }
}

// o[n] = sum over slices of w[n, s] z[s]. A thread a pixel of one head; tokens are shared by the block.
template <typename T>
__device__ __forceinline__ void scatter_in(const T* w, const float* z, T* out, int pixels) {
    __shared__ float tokens[S][D];
    for (int k = threadIdx.x; k < S * D; k += blockDim.x) tokens[k / D][k % D] = z[blockIdx.x * (long long)S * D + k];
    __syncthreads();
    int n = blockIdx.y * blockDim.x + threadIdx.x;
    if (n >= pixels) return;
    long long at = (blockIdx.x / HEADS * (long long)pixels + n) * HEADS + blockIdx.x % HEADS;
    float sums[D] = {};
#pragma unroll 4
    for (int s = 0; s < S; s++) {
        float a = load(w + at * S + s);
#pragma unroll
        for (int d = 0; d < D; d++) sums[d] = fmaf(a, tokens[s][d], sums[d]);
    }
#pragma unroll
    for (int d = 0; d < D; d++) store(out + at * D + d, sums[d]);
}
extern "C" __global__ void __launch_bounds__(128) scatter_bf16(const bf16* w, const float* z, bf16* out, int pixels) {
    scatter_in(w, z, out, pixels);
}
extern "C" __global__ void __launch_bounds__(128) scatter_f32(const float* w, const float* z, float* out, int pixels) {
    scatter_in(w, z, out, pixels);
}

// out[n, s] = f[n] . z[s], or f[n] . z[s] - y[s] . z[s] if there is a y. A thread a pixel of one head.
template <typename T>
__device__ __forceinline__ void inner_in(const T* f, const float* z, const float* y, T* out, int pixels) {
    __shared__ float tokens[S][D], along[S];
    for (int k = threadIdx.x; k < S * D; k += blockDim.x) tokens[k / D][k % D] = z[blockIdx.x * (long long)S * D + k];
    __syncthreads();
    for (int s = threadIdx.x; s < S; s += blockDim.x) {
        float sum = 0.f;
        for (int d = 0; y && d < D; d++) sum = fmaf(tokens[s][d], y[(blockIdx.x * (long long)S + s) * D + d], sum);
        along[s] = sum;
    }
    __syncthreads();
    int n = blockIdx.y * blockDim.x + threadIdx.x;
    if (n >= pixels) return;
    long long at = (blockIdx.x / HEADS * (long long)pixels + n) * HEADS + blockIdx.x % HEADS;
    float a[D];
#pragma unroll
    for (int d = 0; d < D; d++) a[d] = load(f + at * D + d);
#pragma unroll 4
    for (int s = 0; s < S; s++) {
        float sum = -along[s];
#pragma unroll
        for (int d = 0; d < D; d++) sum = fmaf(a[d], tokens[s][d], sum);
        store(out + at * S + s, sum);
    }
}
extern "C" __global__ void __launch_bounds__(128) inner_bf16(const bf16* f, const float* z, const float* y, bf16* out, int pixels) {
    inner_in(f, z, y, out, pixels);
}
extern "C" __global__ void __launch_bounds__(128) inner_f32(const float* f, const float* z, const float* y, float* out, int pixels) {
    inner_in(f, z, y, out, pixels);
}

// e = dz / (total + epsilon). A thread a number.
extern "C" __global__ void scaled(const float* dz, const float* totals, float* e, long long count, float epsilon) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) e[i] = dz[i] / (totals[i / D] + epsilon);
}
