// Batch normalisation of rows [n], channels last. Sums are added over fixed pieces, in order.

// What a channel's numbers are summed as: x; (x - mean)^2; or dy and dy h.
template <int KIND, typename T>
__device__ __forceinline__ void sums_in(const T* x, const T* dy, const float* moments, float* partial, long long rows,
                                        int n, float epsilon) {
    __shared__ float shared[2][256];
    int lanes = min(n - (int)blockIdx.y * 256, 256), together = 256 / lanes;
    int channel = blockIdx.y * 256 + threadIdx.x % lanes, line = threadIdx.x / lanes;
    float first = 0.f, second = 0.f;
    if (line < together) {
        float mean = KIND ? moments[channel] : 0.f, r = KIND == 2 ? rsqrtf(moments[n + channel] + epsilon) : 1.f;
        for (long long row = blockIdx.x * (long long)together + line; row < rows; row += (long long)gridDim.x * together) {
            float v = load(x + row * n + channel) - mean;
            if (KIND == 0) first += v;
            if (KIND == 1) first = fmaf(v, v, first);
            if (KIND == 2) {
                float g = load(dy + row * n + channel);
                first += g;
                second = fmaf(g, v * r, second);
            }
        }
    }
    shared[0][threadIdx.x] = first;
    shared[1][threadIdx.x] = second;
    __syncthreads();
    if (threadIdx.x < lanes) {
        for (int k = 1; k < together; k++) {
            first += shared[0][threadIdx.x + k * lanes];
            second += shared[1][threadIdx.x + k * lanes];
        }
        partial[(blockIdx.x * 2ll) * n + channel] = first;
        partial[(blockIdx.x * 2ll + 1) * n + channel] = second;
    }
}
#define SUMS(name, KIND, T)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        name(const T* x, const T* dy, const float* moments, float* partial, long long rows, int n, float epsilon) {    \
        sums_in<KIND>(x, dy, moments, partial, rows, n, epsilon);                                                      \
    }
SUMS(batch_mean_bf16, 0, bf16)
SUMS(batch_mean_f32, 0, float)
SUMS(batch_variance_bf16, 1, bf16)
SUMS(batch_variance_f32, 1, float)
SUMS(batch_slopes_bf16, 2, bf16)
SUMS(batch_slopes_f32, 2, float)

// out[channel] = scale times the sum of one of the two kinds of partial sums; also put (or added) into a gradient. A warp
// a channel.
extern "C" __global__ void batch_total(const float* partial, float* out, float* gradient, int blocks, int n, int which,
                                       float scale, int accumulate) {
    int channel = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (channel >= n) return;
    double sum = 0.;
    for (int k = lane; k < blocks; k += 32) sum += partial[(k * 2ll + which) * n + channel];
    sum = warp_sum(sum);
    if (lane) return;
    out[channel] = (float)(sum * scale);
    if (gradient) gradient[channel] = (float)sum + (accumulate ? gradient[channel] : 0.f);
}

// Eight neighbours a thread, of rows of n numbers: `f(v, other, channel)` gives what v becomes. The last few, which are no
// vector, are one thread's.
template <typename T, typename F>
__device__ __forceinline__ void each_channel(const T* x, const T* beside, T* out, long long count, int n, F f) {
    long long step = (long long)gridDim.x * blockDim.x * 8, first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * 8;
    for (long long i = first; i + 8 <= count; i += step) {
        Vector<8> v, other = {};
        v.load(x + i);
        if (beside) other.load(beside + i);
        int channel = (int)(i - quotient(i, n) * n);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            v.x[k] = f(v.x[k], other.x[k], channel);
            channel = channel + 1 < n ? channel + 1 : 0;
        }
        v.store(out + i);
    }
    if (first == 0)
        for (long long i = count / 8 * 8; i < count; i++)
            store(out + i, f(load(x + i), beside ? load(beside + i) : 0.f, (int)(i % n)));
}
// (x - mean) / sqrt(variance + e) g + b. Factors of each channel are in shared memory.
template <typename T>
__device__ __forceinline__ void normalise_in(const T* x, const float* mean, const float* variance, const float* gain,
                                             const float* bias, T* out, long long count, int n, float epsilon) {
    extern __shared__ float factors[];
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        factors[c] = mean[c];
        factors[n + c] = rsqrtf(variance[c] + epsilon) * gain[c];
        factors[2 * n + c] = bias[c];
    }
    __syncthreads();
    each_channel(x, (const T*)nullptr, out, count, n,
                 [&](float v, float, int c) { return fmaf(v - factors[c], factors[n + c], factors[2 * n + c]); });
}
// dx = g r (dy - mean(dy) - h mean(dy h)).
template <typename T>
__device__ __forceinline__ void normalise_back_in(const T* x, const T* dy, const float* moments, const float* means,
                                                  const float* gain, T* dx, long long count, int n, float epsilon) {
    extern __shared__ float factors[];
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float r = rsqrtf(moments[n + c] + epsilon);
        factors[c] = moments[c];
        factors[n + c] = gain[c] * r;
        factors[2 * n + c] = means[c];
        factors[3 * n + c] = r * means[n + c];
    }
    __syncthreads();
    each_channel(x, dy, dx, count, n, [&](float v, float g, int c) {
        return factors[n + c] * (g - factors[2 * n + c] - (v - factors[c]) * factors[3 * n + c]);
    });
}
#define NORMALISE(kind, T)                                                                                             \
    extern "C" __global__ void normalise_##kind(const T* x, const float* mean, const float* variance,                  \
                                                const float* gain, const float* bias, T* out, long long count, int n,  \
                                                float epsilon) {                                                       \
        normalise_in(x, mean, variance, gain, bias, out, count, n, epsilon);                                           \
    }                                                                                                                  \
    extern "C" __global__ void normalise_back_##kind(const T* x, const T* dy, const float* moments,                    \
                                                     const float* means, const float* gain, T* dx, long long count,    \
                                                     int n, float epsilon) {                                           \
        normalise_back_in(x, dy, moments, means, gain, dx, count, n, epsilon);                                         \
    }
NORMALISE(bf16, bf16)
NORMALISE(f32, float)

// running += share (factor seen - running), unless the step is void.
extern "C" __global__ void absorb(float* running, const float* seen, const float* guard, int n, float share, float factor) {
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel < n && fabsf(*guard) < __int_as_float(0x7f800000))
        running[channel] = (1.f - share) * running[channel] + share * factor * seen[channel];
}
