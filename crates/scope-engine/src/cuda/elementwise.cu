// Fills, sums and conversions, element by element.

extern "C" __global__ void fill_f32(float* out, float value, long long n) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        out[i] = value;
}

// Eight at a time; the last few, which are no vector, one at a time by one thread.
template <typename In, typename Out, typename F>
__device__ __forceinline__ void each(const In* x, Out* out, long long n, F f) {
    long long vectors = n / 8, first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (long long i = first; i < vectors; i += (long long)gridDim.x * blockDim.x) {
        Vector<8> v;
        v.load(x + 8 * i);
        f(v, 8 * i);
        v.store(out + 8 * i);
    }
    if (first == 0)
        for (long long i = vectors * 8; i < n; i++) {
            Vector<1> v;
            v.load(x + i);
            f(v, i);
            v.store(out + i);
        }
}

template <typename T> struct Plus {
    const T* y;
    template <int W> __device__ __forceinline__ void operator()(Vector<W>& v, long long at) const {
        Vector<W> other;
        other.load(y + at);
#pragma unroll
        for (int k = 0; k < W; k++) v.x[k] += other.x[k];
    }
};
struct Same {
    template <int W> __device__ __forceinline__ void operator()(Vector<W>&, long long) const {}
};

extern "C" __global__ void add_f32(const float* x, const float* y, float* out, long long n) {
    each(x, out, n, Plus<float>{y});
}
extern "C" __global__ void add_bf16(const bf16* x, const bf16* y, bf16* out, long long n) {
    each(x, out, n, Plus<bf16>{y});
}
extern "C" __global__ void narrow(const float* x, bf16* out, long long n) { each(x, out, n, Same{}); }
extern "C" __global__ void widen(const bf16* x, float* out, long long n) { each(x, out, n, Same{}); }
