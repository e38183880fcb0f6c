// Complex mixing of channels, a block a mode. C channels in, O out, both known when this is compiled; x and y are
// [batch, modes, 2, channels], real parts first, and the weight is [modes, 2, C, O].

constexpr int SAMPLES = 16;

// The weight of a mode in shared memory, rows one longer than they are, so that columns are read without conflicts.
__device__ __forceinline__ void load_weight(const float* w, float (*shared)[C][O + 1]) {
    for (int k = threadIdx.x; k < 2 * C * O; k += blockDim.x)
        shared[k / (C * O)][k / O % C][k % O] = w[(long long)blockIdx.x * 2 * C * O + k];
    __syncthreads();
}

// y = x W, or with SIGN = -1 and the sides exchanged dx = dy W^H: FROM numbers to TO of them. A thread has one number of a
// few samples, so that each entry of the weight is read once for all of them; weight_at(part, i, j) is the entry between
// number i of x and number j of y.
template <int FROM, int TO, int SIGN, typename T, typename Weight>
__device__ __forceinline__ void mix_in(const T* x, T* y, int batch, int modes, Weight weight_at) {
    constexpr int TOGETHER = 4, STEP = FROM % 4 ? 1 : 4;
    int groups = (batch + TOGETHER - 1) / TOGETHER;
    for (int item = threadIdx.x; item < groups * TO; item += blockDim.x) {
        int to = item % TO, first = item / TO * TOGETHER;
        float real[TOGETHER] = {}, imaginary[TOGETHER] = {};
        for (int c = 0; c < FROM; c += STEP) {
            Vector<STEP> r[TOGETHER], i[TOGETHER];
#pragma unroll
            for (int s = 0; s < TOGETHER; s++) {
                const T* from = x + ((long long)min(first + s, batch - 1) * modes + blockIdx.x) * 2 * FROM + c;
                r[s].load(from);
                i[s].load(from + FROM);
            }
#pragma unroll
            for (int e = 0; e < STEP; e++) {
                float wr = weight_at(0, c + e, to), wi = SIGN * weight_at(1, c + e, to);
#pragma unroll
                for (int s = 0; s < TOGETHER; s++) {
                    real[s] = fmaf(r[s].x[e], wr, fmaf(-i[s].x[e], wi, real[s]));
                    imaginary[s] = fmaf(r[s].x[e], wi, fmaf(i[s].x[e], wr, imaginary[s]));
                }
            }
        }
#pragma unroll
        for (int s = 0; s < TOGETHER; s++) {
            if (first + s >= batch) break;
            T* out = y + ((long long)(first + s) * modes + blockIdx.x) * 2 * TO + to;
            store(out, real[s]);
            store(out + TO, imaginary[s]);
        }
    }
}
#define MIX(kind, T)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        mix_##kind(const T* x, const float* w, T* y, int batch, int modes) {                                           \
        __shared__ float weight[2][C][O + 1];                                                                          \
        load_weight(w, weight);                                                                                        \
        mix_in<C, O, 1>(x, y, batch, modes, [&](int part, int c, int o) { return weight[part][c][o]; });               \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        mix_input_##kind(const T* dy, const float* w, T* dx, int batch, int modes) {                                   \
        __shared__ float weight[2][C][O + 1];                                                                          \
        load_weight(w, weight);                                                                                        \
        mix_in<O, C, -1>(dy, dx, batch, modes, [&](int part, int o, int c) { return weight[part][c][o]; });            \
    }
MIX(bf16, bf16)
MIX(f32, float)

// dW = x^H dy over the batch, added to what is there if asked.
template <typename T>
__device__ __forceinline__ void mix_weight_in(const T* x, const T* dy, float* dw, int batch, int modes, int accumulate) {
    __shared__ float xs[SAMPLES][2 * C], ys[SAMPLES][2 * O];
    constexpr int EACH = (C * O + 255) / 256;
    float real[EACH] = {}, imaginary[EACH] = {};
    for (int first = 0; first < batch; first += SAMPLES) {
        int count = min(SAMPLES, batch - first);
        __syncthreads();
        for (int k = threadIdx.x; k < count * 2 * C; k += blockDim.x)
            xs[k / (2 * C)][k % (2 * C)] =
                load(x + ((long long)(first + k / (2 * C)) * modes + blockIdx.x) * 2 * C + k % (2 * C));
        for (int k = threadIdx.x; k < count * 2 * O; k += blockDim.x)
            ys[k / (2 * O)][k % (2 * O)] =
                load(dy + ((long long)(first + k / (2 * O)) * modes + blockIdx.x) * 2 * O + k % (2 * O));
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            int at = threadIdx.x + 256 * e, c = at / O, o = at % O;
            if (at >= C * O) break;
            for (int s = 0; s < count; s++) {
                float r = xs[s][c], i = xs[s][C + c], dr = ys[s][o], di = ys[s][O + o];
                real[e] = fmaf(r, dr, fmaf(i, di, real[e]));
                imaginary[e] = fmaf(r, di, fmaf(-i, dr, imaginary[e]));
            }
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int at = threadIdx.x + 256 * e;
        if (at >= C * O) break;
        float* out = dw + (long long)blockIdx.x * 2 * C * O + at;
        out[0] = real[e] + (accumulate ? out[0] : 0.f);
        out[C * O] = imaginary[e] + (accumulate ? out[C * O] : 0.f);
    }
}
#define MIX_WEIGHT(kind, T)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        mix_weight_##kind(const T* x, const T* dy, float* dw, int batch, int modes, int accumulate) {                  \
        mix_weight_in(x, dy, dw, batch, modes, accumulate);                                                            \
    }
MIX_WEIGHT(bf16, bf16)
MIX_WEIGHT(f32, float)
