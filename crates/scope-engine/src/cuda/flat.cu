// Passes over flat buffers of parameters, whose lengths are multiples of 64.

// What one update reads and writes besides the flat buffers.
struct Scalars {
    float rate;        // learning rate
    float correction1; // 1 - b1^t
    float correction2; // 1 - b2^t
    float momentum;    // of the average of weights
    float factor;      // multiplies all gradients: clipping
    float alpha;       // multiplies the auxiliary gradients: the cap
    float norm;        // of the capped sum, before clipping
    float reserved;
    float norms[8];    // of each component: over all, then over the first part
};

// sum of squares of x[from..to), one block's share left in `partial`, all of it in *out.
extern "C" __global__ void __launch_bounds__(256) norm_of(const float* x, double* partial, u32* counter, float* out,
                                                       long long n) {
    double sum = 0.;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i * 4 < n; i += gridDim.x * 256ll) {
        float4 v = ((const float4*)x)[i];
        sum += (double)(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (!last_to_arrive(counter, gridDim.x)) return;
    sum = 0.;
    for (u32 i = threadIdx.x; i < gridDim.x; i += 256) sum += __ldcg(partial + i);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = (float)sqrt(sum);
}

__device__ __forceinline__ float4 component(const float* g, long long i) {
    return g ? ((const float4*)g)[i] : make_float4(0.f, 0.f, 0.f, 0.f);
}
__device__ __forceinline__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
__device__ __forceinline__ float4 sum3(float4 a, float4 b, float4 c) {
    return make_float4(a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z, a.w + b.w + c.w);
}

// Ten sums of products in one pass: the squares of the main gradient f and of up to three auxiliary ones, each over
// the first `part` numbers and over the rest, then s s and f s, with s the sum of the auxiliary ones. From them, the
// cap: alpha = min(1, |f| / sum of |auxiliary|), over all and over the first part, a hair less where it binds; the
// norm |f + alpha s|; and the factor that clips it.
extern "C" __global__ void __launch_bounds__(256) cap(const float* f, const float* a, const float* b, const float* c,
                                                      double* partial, u32* counter, Scalars* scalars, long long n,
                                                      long long part, float clip) {
    double sums[10];
#pragma unroll
    for (int k = 0; k < 10; k++) sums[k] = 0.;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i * 4 < n; i += gridDim.x * 256ll) {
        float4 vf = component(f, i), va = component(a, i), vb = component(b, i), vc = component(c, i);
        float4 s = sum3(va, vb, vc);
        float squares[4] = {dot(vf, vf), dot(va, va), dot(vb, vb), dot(vc, vc)};
        bool rest = i * 4 >= part;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            sums[2 * k] += rest ? 0.f : squares[k];
            sums[2 * k + 1] += rest ? squares[k] : 0.f;
        }
        sums[8] += dot(s, s);
        sums[9] += dot(vf, s);
    }
#pragma unroll
    for (int k = 0; k < 10; k++) {
        double sum = block_sum(sums[k]);
        if (threadIdx.x == 0) partial[blockIdx.x * 10 + k] = sum;
    }
    if (!last_to_arrive(counter, gridDim.x)) return;
    double total[10];
#pragma unroll
    for (int k = 0; k < 10; k++) {
        double sum = 0.;
        for (u32 i = threadIdx.x; i < gridDim.x; i += 256) sum += __ldcg(partial + i * 10 + k);
        total[k] = block_sum(sum);
    }
    if (threadIdx.x) return;
    double alpha = 1., whole = 0., first = 0.;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        double all = sqrt(total[2 * k] + total[2 * k + 1]), part = sqrt(total[2 * k]);
        scalars->norms[2 * k] = (float)all;
        scalars->norms[2 * k + 1] = (float)part;
        if (k) whole += all, first += part;
    }
    if (whole > 0.) alpha = fmin(alpha, sqrt(total[0] + total[1]) / whole);
    if (first > 0.) alpha = fmin(alpha, sqrt(total[0]) / first);
    if (alpha < 1.) alpha *= 1. - 1e-6;
    double norm = sqrt(fmax(total[0] + total[1] + 2. * alpha * total[9] + alpha * alpha * total[8], 0.));
    scalars->alpha = (float)alpha;
    scalars->norm = (float)norm;
    scalars->factor = clip > 0.f ? (float)fmin(1., clip / (norm + 1e-6)) : 1.f;
}

struct Settings {
    float beta1, beta2, epsilon, decay;
};

// One step of AdamW with (f + alpha (a + b + c)) factor as the gradient, the bf16 copy of the parameters, and the
// average of the first `averaged` of them with its own bf16 copy: everything is read and written once.
// decays[i] says whether numbers 64 i .. 64 i + 63 decay.
extern "C" __global__ void __launch_bounds__(256) adamw(float* p, uint2* copy, float* first, float* second,
                                                        const float* f, const float* a, const float* b, const float* c,
                                                        const unsigned char* decays, float* average, uint2* average_copy,
                                                        const Scalars* scalars, long long n, long long averaged,
                                                        float beta1, float beta2, float epsilon, float decay) {
    Scalars s = *scalars;
    float pace = s.rate / s.correction1, root = rsqrtf(s.correction2);
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i * 4 < n; i += gridDim.x * 256ll) {
        Vector<4> vp, vm, vv, vf;
        vp.load(p + 4 * i);
        vm.load(first + 4 * i);
        vv.load(second + 4 * i);
        vf.load(f + 4 * i);
        float4 aux = sum3(component(a, i), component(b, i), component(c, i));
        float extra[4] = {aux.x, aux.y, aux.z, aux.w};
        float shrink = decays[i / 16] ? 1.f - s.rate * decay : 1.f;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float g = fmaf(s.alpha, extra[k], vf.x[k]) * s.factor;
            vm.x[k] = beta1 * vm.x[k] + (1.f - beta1) * g;
            vv.x[k] = beta2 * vv.x[k] + (1.f - beta2) * g * g;
            vp.x[k] = vp.x[k] * shrink - pace * vm.x[k] / (sqrtf(vv.x[k]) * root + epsilon);
        }
        vp.store(p + 4 * i);
        vm.store(first + 4 * i);
        vv.store(second + 4 * i);
        copy[i] = make_uint2(pack(vp.x[0], vp.x[1]), pack(vp.x[2], vp.x[3]));
        if (4 * i < averaged) {
            Vector<4> va;
            va.load(average + 4 * i);
#pragma unroll
            for (int k = 0; k < 4; k++) va.x[k] += (1.f - s.momentum) * (vp.x[k] - va.x[k]);
            va.store(average + 4 * i);
            average_copy[i] = make_uint2(pack(va.x[0], va.x[1]), pack(va.x[2], va.x[3]));
        }
    }
}
