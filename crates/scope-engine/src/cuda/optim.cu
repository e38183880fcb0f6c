// Passes over flat buffers of parameters. Lengths and the ends of ranges are multiples of 64 numbers.

// The norms of x over up to four ranges, in one pass: out[k] belongs to from[k] .. to[k].
extern "C" __global__ void __launch_bounds__(256) norms(const float* x, double* partial, u32* counter, float* out,
                                                        long long n, int ranges, long long from0, long long to0,
                                                        long long from1, long long to1, long long from2, long long to2,
                                                        long long from3, long long to3) {
    long long from[4] = {from0, from1, from2, from3}, to[4] = {to0, to1, to2, to3};
    double sums[4] = {0., 0., 0., 0.};
    // A block has 2048 neighbours at a time; their loads are asked for before the first is used.
    for (long long start = blockIdx.x * 2048ll; start < n; start += gridDim.x * 2048ll) {
        float4 v[2];
#pragma unroll
        for (int j = 0; j < 2; j++) {
            long long at = start + j * 1024 + threadIdx.x * 4;
            v[j] = at < n ? *(const float4*)(x + at) : make_float4(0.f, 0.f, 0.f, 0.f);
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            long long at = start + j * 1024 + threadIdx.x * 4;
            double square = (double)(v[j].x * v[j].x + v[j].y * v[j].y + v[j].z * v[j].z + v[j].w * v[j].w);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (k < ranges && at >= from[k] && at < to[k]) sums[k] += square;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        double sum = block_sum(sums[k]);
        if (threadIdx.x == 0) partial[blockIdx.x * 4 + k] = sum;
    }
    if (!last_to_arrive(counter, gridDim.x)) return;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        double sum = 0.;
        for (u32 i = threadIdx.x; i < gridDim.x; i += 256) sum += __ldcg(partial + i * 4 + k);
        sum = block_sum(sum);
        if (threadIdx.x == 0 && k < ranges) out[k] = (float)sqrt(sum);
    }
}

__device__ __forceinline__ float4 component(const float* g, long long i) {
    return g ? ((const float4*)g)[i] : make_float4(0.f, 0.f, 0.f, 0.f);
}

// f += alpha (a + b + c), where alpha = min(1, |f| / (|a| + |b| + |c|)) over every range, a hair less where it binds.
// norms[1 + auxiliaries, ranges] holds the norms, f's first.
extern "C" __global__ void __launch_bounds__(256) add_capped(float* f, const float* a, const float* b, const float* c,
                                                             const float* norms, float* factor, long long n,
                                                             int auxiliaries, int ranges, float margin) {
    double alpha = 1.;
    for (int r = 0; r < ranges; r++) {
        double sum = 0.;
        for (int k = 1; k <= auxiliaries; k++) sum += norms[k * ranges + r];
        if (sum > 0.) alpha = fmin(alpha, norms[r] / sum);
    }
    if (alpha < 1.) alpha *= 1. - (double)margin;
    float s = (float)alpha;
    if (blockIdx.x == 0 && threadIdx.x == 0) *factor = s;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i * 4 < n; i += gridDim.x * 256ll) {
        float4 x = ((float4*)f)[i], u = component(a, i), v = component(b, i), w = component(c, i);
        x.x = fmaf(s, u.x + v.x + w.x, x.x);
        x.y = fmaf(s, u.y + v.y + w.y, x.y);
        x.z = fmaf(s, u.z + v.z + w.z, x.z);
        x.w = fmaf(s, u.w + v.w + w.w, x.w);
        ((float4*)f)[i] = x;
    }
}

// A step with these gradients changes nothing, unless the loss is exactly zero.
extern "C" __global__ void void_unless_zero(float* gradient, const float* loss) {
    if (threadIdx.x == 0 && *loss != 0.f) *gradient = __uint_as_float(0x7fc00000u);
}

// One step of AdamW, and the bf16 copy of the parameters. scalars = [rate, 1 - b1^t, 1 - b2^t, momentum]; marks[i] says of
// numbers 64 i .. 64 i + 63 whether they are left alone (0), trained (1), or trained with decay (2). Nothing happens if
// the norm is not finite.
extern "C" __global__ void __launch_bounds__(256) adamw(float* p, uint2* copy, float* first, float* second,
                                                        const float* gradient, const unsigned char* marks,
                                                        const float* scalars, const float* norm, long long n, float beta1,
                                                        float beta2, float epsilon, float decay, float max_norm) {
    float rate = scalars[0], speed = rate / scalars[1], root = rsqrtf(scalars[2]);
    float factor = fminf(1.f, max_norm / (*norm + 1e-6f));
    if (!finite(*norm)) return;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i * 4 < n; i += gridDim.x * 256ll) {
        int mark = marks[i / 16];
        if (mark == 0) continue;
        Vector<4> vp, vm, vv, vg;
        vp.load(p + 4 * i);
        vm.load(first + 4 * i);
        vv.load(second + 4 * i);
        vg.load(gradient + 4 * i);
        float shrink = mark == 2 ? 1.f - rate * decay : 1.f;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float g = vg.x[k] * factor;
            vm.x[k] = beta1 * vm.x[k] + (1.f - beta1) * g;
            vv.x[k] = beta2 * vv.x[k] + (1.f - beta2) * g * g;
            vp.x[k] = vp.x[k] * shrink - speed * vm.x[k] / (sqrtf(vv.x[k]) * root + epsilon);
        }
        vp.store(p + 4 * i);
        vm.store(first + 4 * i);
        vv.store(second + 4 * i);
        copy[i] = make_uint2(pack(vp.x[0], vp.x[1]), pack(vp.x[2], vp.x[3]));
    }
}

// average = momentum average + (1 - momentum) p, and its bf16 copy, unless the guard is not finite.
extern "C" __global__ void __launch_bounds__(256) update_ema(float* average, uint2* copy, const float* p, const float* scalars,
                                                         const float* guard, long long n) {
    float step = 1.f - scalars[3];
    if (!finite(*guard)) return;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i * 4 < n; i += gridDim.x * 256ll) {
        Vector<4> va, vp;
        va.load(average + 4 * i);
        vp.load(p + 4 * i);
#pragma unroll
        for (int k = 0; k < 4; k++) va.x[k] += step * (vp.x[k] - va.x[k]);
        va.store(average + 4 * i);
        copy[i] = make_uint2(pack(va.x[0], va.x[1]), pack(va.x[2], va.x[3]));
    }
}
