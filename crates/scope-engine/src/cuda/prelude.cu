// What every kernel file begins with: bf16 without CUDA's headers, vectors of eight, sums over a block.

typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned long long u64;

struct bf16 {
    u16 bits;
};

__device__ __forceinline__ u32 pack(float low, float high) {
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
__device__ __forceinline__ float low_half(u32 u) { return __uint_as_float(u << 16); }
__device__ __forceinline__ float high_half(u32 u) { return __uint_as_float(u & 0xffff0000u); }

__device__ __forceinline__ float load(const float* p) { return *p; }
__device__ __forceinline__ float load(const bf16* p) { return __uint_as_float((u32)p->bits << 16); }
__device__ __forceinline__ void store(float* p, float x) { *p = x; }
__device__ __forceinline__ void store(bf16* p, float x) { p->bits = (u16)(pack(x, 0.f) & 0xffffu); }

__device__ __forceinline__ bool finite(float x) { return fabsf(x) <= 3.402823466e38f; }

// i / n, in 32 bits where that is enough: 64 take many times as long.
__device__ __forceinline__ long long quotient(long long i, int n) {
    return i >> 32 ? i / n : (long long)((u32)i / (u32)n);
}

// W numbers at an address that is a multiple of their size.
template <int W> struct Vector;
template <> struct Vector<1> {
    float x[1];
    template <typename T> __device__ __forceinline__ void load(const T* p) { x[0] = ::load(p); }
    template <typename T> __device__ __forceinline__ void store(T* p) const { ::store(p, x[0]); }
};
template <> struct Vector<2> {
    float x[2];
    __device__ __forceinline__ void load(const float* p) {
        float2 a = *(const float2*)p;
        x[0] = a.x, x[1] = a.y;
    }
    __device__ __forceinline__ void load(const bf16* p) {
        u32 a = *(const u32*)p;
        x[0] = low_half(a), x[1] = high_half(a);
    }
    __device__ __forceinline__ void store(float* p) const { *(float2*)p = make_float2(x[0], x[1]); }
    __device__ __forceinline__ void store(bf16* p) const { *(u32*)p = pack(x[0], x[1]); }
};
template <> struct Vector<4> {
    float x[4];
    __device__ __forceinline__ void load(const float* p) {
        float4 a = *(const float4*)p;
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
    }
    __device__ __forceinline__ void load(const bf16* p) {
        uint2 a = *(const uint2*)p;
        x[0] = low_half(a.x), x[1] = high_half(a.x), x[2] = low_half(a.y), x[3] = high_half(a.y);
    }
    __device__ __forceinline__ void store(float* p) const { *(float4*)p = make_float4(x[0], x[1], x[2], x[3]); }
    __device__ __forceinline__ void store(bf16* p) const {
        *(uint2*)p = make_uint2(pack(x[0], x[1]), pack(x[2], x[3]));
    }
};
template <> struct Vector<8> {
    float x[8];
    __device__ __forceinline__ void load(const float* p) {
        float4 a = ((const float4*)p)[0], b = ((const float4*)p)[1];
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w, x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
    }
    __device__ __forceinline__ void load(const bf16* p) {
        uint4 a = *(const uint4*)p;
        x[0] = low_half(a.x), x[1] = high_half(a.x), x[2] = low_half(a.y), x[3] = high_half(a.y);
        x[4] = low_half(a.z), x[5] = high_half(a.z), x[6] = low_half(a.w), x[7] = high_half(a.w);
    }
    __device__ __forceinline__ void store(float* p) const {
        ((float4*)p)[0] = make_float4(x[0], x[1], x[2], x[3]);
        ((float4*)p)[1] = make_float4(x[4], x[5], x[6], x[7]);
    }
    __device__ __forceinline__ void store(bf16* p) const {
        *(uint4*)p = make_uint4(pack(x[0], x[1]), pack(x[2], x[3]), pack(x[4], x[5]), pack(x[6], x[7]));
    }
};

// W numbers as they lie in memory, to be made floats when they are used.
template <int W, typename T> struct Raw {
    Vector<W> v;
    __device__ __forceinline__ void load(const T* p) { v.load(p); }
    __device__ __forceinline__ Vector<W> wide() const { return v; }
};
template <> struct Raw<8, bf16> {
    uint4 v;
    __device__ __forceinline__ void load(const bf16* p) { v = *(const uint4*)p; }
    __device__ __forceinline__ Vector<8> wide() const {
        Vector<8> out;
        const u32 words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int k = 0; k < 4; k++) out.x[2 * k] = low_half(words[k]), out.x[2 * k + 1] = high_half(words[k]);
        return out;
    }
};
template <> struct Raw<4, bf16> {
    uint2 v;
    __device__ __forceinline__ void load(const bf16* p) { v = *(const uint2*)p; }
    __device__ __forceinline__ Vector<4> wide() const {
        Vector<4> out;
        out.x[0] = low_half(v.x), out.x[1] = high_half(v.x), out.x[2] = low_half(v.y), out.x[3] = high_half(v.y);
        return out;
    }
};

// The sum over a warp, in every lane.
template <typename T> __device__ __forceinline__ T warp_sum(T x) {
#pragma unroll
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

// The sum over a block of whole warps, in thread 0.
template <typename T> __device__ __forceinline__ T block_sum(T x) {
    __shared__ T sums[32];
    x = warp_sum(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = x;
    __syncthreads();
    if (threadIdx.x < 32) x = warp_sum(threadIdx.x < (blockDim.x >> 5) ? sums[threadIdx.x] : T(0));
    return x;
}

// True in all threads of the block that is the last of `blocks` to come here. What the others wrote before is
// then visible. The counter is left at zero for the next kernel.
__device__ __forceinline__ bool last_to_arrive(u32* counter, u32 blocks) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(counter, 1u) == blocks - 1;
        if (last) *counter = 0;
    }
    __syncthreads();
    if (last) __threadfence();
    return last;
}

// The first thing that kernels launched early do before they touch memory: they may begin while the one before them on the
// stream ends, so they wait for it here. From then on the one after them may begin in the same way.
__device__ __forceinline__ void after_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ float exp2_fast(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
__device__ __forceinline__ float inverse_fast(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

// exp(-x^2 / 2) and the standard normal's distribution function. The tail 1 - F(|x|) is Abramowitz and Stegun's
// 26.2.17, exact to 7.5e-8; its exponential is the one the slope of GELU needs as well.
__device__ __forceinline__ float2 bell_and_share(float x) {
    float bell = exp2_fast(x * x * -0.72134752f);
    float t = inverse_fast(fmaf(0.23164189f, fabsf(x), 1.f));
    float p = fmaf(fmaf(fmaf(fmaf(0.5307027145f, t, -0.7265760135f), t, 0.7107068705f), t, -0.142248368f), t, 0.127414796f);
    float tail = p * t * bell;
    return make_float2(bell, x < 0.f ? tail : 1.f - tail);
}
__device__ __forceinline__ float gelu(float x) { return x * bell_and_share(x).y; }
__device__ __forceinline__ float gelu_slope(float x) {
    float2 b = bell_and_share(x);
    return fmaf(x * 0.39894228f, b.x, b.y);
}

// For results in bf16, with fewer instructions: F = (1 + tanh(x p(x^2))) / 2 with p fitted so that x F is exact to 2.5e-5; the
// unit's tanh adds 2.5e-4 |x| at most, which bf16 does not show.
__device__ __forceinline__ float share_fast(float x, float square) {
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x * fmaf(fmaf(-3.5151681e-4f, square, 0.037005646f), square, 0.79750788f)));
    return fmaf(0.5f, t, 0.5f);
}
__device__ __forceinline__ float gelu_fast(float x) { return x * share_fast(x, fminf(x * x, 40.f)); }
// GELU and its slope, F(x) + x f(x) with f and F the standard normal's density and distribution.
__device__ __forceinline__ float2 gelu_and_slope_fast(float x) {
    float square = fminf(x * x, 40.f), share = share_fast(x, square);
    return make_float2(x * share, fmaf(x * 0.39894228f, exp2_fast(square * -0.72134752f), share));
}

// As exactly as a result of kind Out shows.
template <typename Out> __device__ __forceinline__ float gelu_for(float x) { return sizeof(Out) == 2 ? gelu_fast(x) : gelu(x); }
template <typename Out> __device__ __forceinline__ float gelu_slope_for(float x) {
    return sizeof(Out) == 2 ? gelu_and_slope_fast(x).y : gelu_slope(x);
}
