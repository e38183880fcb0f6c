// Complex mixing of channels, a block a mode. C channels in, O out, both known when this is compiled; x and y are
// [batch, modes, 2, channels], real parts first, and the weight is [modes, 2, C, O].

constexpr int SAMPLES = 16;

// The weight of a mode in shared memory, rows one longer than they are, so that columns are read without conflicts.
__device__ __forceinline__ void load_weight(const float* w, float (*shared)[C][O + 1]) {
    for (int k = threadIdx.x; k < 2 * C * O; k += blockDim.x)
        shared[k / (C * O)][k / O % C][k % O] = w[(long long)blockIdx.x * 2 * C * O + k];
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256) mix(const float* x, const float* w, float* y, int batch, int modes) {
    __shared__ float weight[2][C][O + 1];
    load_weight(w, weight);
    for (int item = threadIdx.x; item < batch * O; item += blockDim.x) {
        int o = item % O;
        long long place = (long long)(item / O) * modes + blockIdx.x;
        const float* from = x + place * 2 * C;
        float real = 0.f, imaginary = 0.f;
        for (int c = 0; c < C; c++) {
            float r = from[c], i = from[C + c], wr = weight[0][c][o], wi = weight[1][c][o];
            real = fmaf(r, wr, fmaf(-i, wi, real));
            imaginary = fmaf(r, wi, fmaf(i, wr, imaginary));
        }
        y[place * 2 * O + o] = real;
        y[place * 2 * O + O + o] = imaginary;
    }
}

// dx = dy W^H.
extern "C" __global__ void __launch_bounds__(256) mix_input(const float* dy, const float* w, float* dx, int batch, int modes) {
    __shared__ float weight[2][C][O + 1];
    load_weight(w, weight);
    for (int item = threadIdx.x; item < batch * C; item += blockDim.x) {
        int c = item % C;
        long long place = (long long)(item / C) * modes + blockIdx.x;
        const float* from = dy + place * 2 * O;
        float real = 0.f, imaginary = 0.f;
        for (int o = 0; o < O; o++) {
            float r = from[o], i = from[O + o], wr = weight[0][c][o], wi = weight[1][c][o];
            real = fmaf(r, wr, fmaf(i, wi, real));
            imaginary = fmaf(i, wr, fmaf(-r, wi, imaginary));
        }
        dx[place * 2 * C + c] = real;
        dx[place * 2 * C + C + c] = imaginary;
    }
}

// dW = x^H dy over the batch, added to what is there if asked.
extern "C" __global__ void __launch_bounds__(256)
    mix_weight(const float* x, const float* dy, float* dw, int batch, int modes, int accumulate) {
    __shared__ float xs[SAMPLES][2 * C], ys[SAMPLES][2 * O];
    constexpr int EACH = (C * O + 255) / 256;
    float real[EACH] = {}, imaginary[EACH] = {};
    for (int first = 0; first < batch; first += SAMPLES) {
        int count = min(SAMPLES, batch - first);
        __syncthreads();
        for (int k = threadIdx.x; k < count * 2 * C; k += blockDim.x)
            xs[k / (2 * C)][k % (2 * C)] = x[((long long)(first + k / (2 * C)) * modes + blockIdx.x) * 2 * C + k % (2 * C)];
        for (int k = threadIdx.x; k < count * 2 * O; k += blockDim.x)
            ys[k / (2 * O)][k % (2 * O)] = dy[((long long)(first + k / (2 * O)) * modes + blockIdx.x) * 2 * O + k % (2 * O)];
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
