// Layer normalisation over rows of WIDTH numbers (a compile-time constant), a warp a row.
//
// A lane holds numbers EACH (lane + 32 j) .. + EACH of its row, for j below PARTS; past the row's end it holds nothing.

#define EACH (WIDTH % 4 ? 1 : 4)
#define PARTS ((WIDTH + 32 * EACH - 1) / (32 * EACH))
#define WARPS 8
// Whether gain and bias are asked for before the row's moments are known: with few rows, waiting costs more than room.
#ifndef EARLY
#define EARLY 0
#endif

struct Row {
    float x[PARTS][EACH];
};

__device__ __forceinline__ bool inside(int lane, int j) { return WIDTH % (32 * EACH) == 0 || EACH * (lane + 32 * j) < WIDTH; }

template <typename T> __device__ __forceinline__ void load_row(Row& row, const T* p, int lane) {
#pragma unroll
    for (int j = 0; j < PARTS; j++) {
        Vector<EACH> v;
#pragma unroll
        for (int k = 0; k < EACH; k++) v.x[k] = 0.f;
        if (inside(lane, j)) v.load(p + EACH * (lane + 32 * j));
#pragma unroll
        for (int k = 0; k < EACH; k++) row.x[j][k] = v.x[k];
    }
}

// The row's mean and 1 / sqrt(variance + e).
__device__ __forceinline__ float2 moments(const Row& row, int lane, float epsilon) {
    float sum = 0.f, squares = 0.f;
#pragma unroll
    for (int j = 0; j < PARTS; j++)
#pragma unroll
        for (int k = 0; k < EACH; k++) sum += row.x[j][k];
    float mean = warp_sum(sum) * (1.f / WIDTH);
#pragma unroll
    for (int j = 0; j < PARTS; j++)
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            float d = inside(lane, j) ? row.x[j][k] - mean : 0.f;
            squares = fmaf(d, d, squares);
        }
    return make_float2(mean, rsqrtf(warp_sum(squares) * (1.f / WIDTH) + epsilon));
}

template <typename T>
__device__ __forceinline__ void forward(const float* x, const float* gain, const float* bias, T* out, long long rows,
                                        float epsilon) {
    int lane = threadIdx.x & 31;
    long long row = blockIdx.x * (long long)WARPS + (threadIdx.x >> 5);
    after_previous();
    if (row >= rows) return;
    Row r, g, b;
    load_row(r, x + row * WIDTH, lane);
    if (EARLY) {
        load_row(g, gain, lane);
        load_row(b, bias, lane);
    }
    float2 s = moments(r, lane, epsilon);
    if (!EARLY) {
        load_row(g, gain, lane);
        load_row(b, bias, lane);
    }
#pragma unroll
    for (int j = 0; j < PARTS; j++) {
        if (!inside(lane, j)) continue;
        Vector<EACH> v;
#pragma unroll
        for (int k = 0; k < EACH; k++) v.x[k] = fmaf((r.x[j][k] - s.x) * s.y, g.x[j][k], b.x[j][k]);
        v.store(out + row * WIDTH + EACH * (lane + 32 * j));
    }
}
extern "C" __global__ void __launch_bounds__(256) norm_bf16(const float* x, const float* gain, const float* bias,
                                                            bf16* out, long long rows, float epsilon) {
    forward(x, gain, bias, out, rows, epsilon);
}
extern "C" __global__ void __launch_bounds__(256) norm_f32(const float* x, const float* gain, const float* bias,
                                                           float* out, long long rows, float epsilon) {
    forward(x, gain, bias, out, rows, epsilon);
}

// dx = r (d - mean(d) - h mean(d h)) + what had arrived, with d = dy g and h = (x - mean) r. The sums over rows of
// dy h, of dy and of dx are kept by each warp, added over the block, and left for `norm_sums` to add over blocks: the
// last are the gradient of the bias of the layer before, which has dx as the gradient of its result.
template <typename T>
__device__ __forceinline__ void backward(const float* x, const T* dy, const float* gain, const T* arrived, T* dx,
                                         float* partial, long long rows, float epsilon) {
    __shared__ float shared[WARPS][WIDTH];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Row g, dgain, dbias, total;
    after_previous();
    load_row(g, gain, lane);
#pragma unroll
    for (int j = 0; j < PARTS; j++)
#pragma unroll
        for (int k = 0; k < EACH; k++) dgain.x[j][k] = dbias.x[j][k] = total.x[j][k] = 0.f;
    for (long long row = blockIdx.x * (long long)WARPS + warp; row < rows; row += (long long)gridDim.x * WARPS) {
        Row h, d;
        Raw<EACH, T> before[PARTS];
        load_row(h, x + row * WIDTH, lane);
        load_row(d, dy + row * WIDTH, lane);
        if (arrived)
#pragma unroll
            for (int j = 0; j < PARTS; j++)
                if (inside(lane, j)) before[j].load(arrived + row * WIDTH + EACH * (lane + 32 * j));
        float2 s = moments(h, lane, epsilon);
        float sum = 0.f, weighted = 0.f;
#pragma unroll
        for (int j = 0; j < PARTS; j++)
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                h.x[j][k] = (h.x[j][k] - s.x) * s.y;
                dgain.x[j][k] = fmaf(d.x[j][k], h.x[j][k], dgain.x[j][k]);
                dbias.x[j][k] += d.x[j][k];
                d.x[j][k] *= g.x[j][k];
                sum += d.x[j][k];
                weighted = fmaf(d.x[j][k], h.x[j][k], weighted);
            }
        sum = warp_sum(sum) * (1.f / WIDTH);
        weighted = warp_sum(weighted) * (1.f / WIDTH);
#pragma unroll
        for (int j = 0; j < PARTS; j++) {
            if (!inside(lane, j)) continue;
            Vector<EACH> v, old;
            if (arrived) old = before[j].wide();
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                v.x[k] = (d.x[j][k] - sum - h.x[j][k] * weighted) * s.y;
                if (arrived) v.x[k] += old.x[k];
                total.x[j][k] += v.x[k];
            }
            v.store(dx + row * WIDTH + EACH * (lane + 32 * j));
        }
    }
#pragma unroll
    for (int which = 0; which < 3; which++) {
        __syncthreads();
#pragma unroll
        for (int j = 0; j < PARTS; j++)
#pragma unroll
            for (int k = 0; k < EACH; k++)
                if (inside(lane, j))
                    shared[warp][EACH * (lane + 32 * j) + k] =
                        which == 0 ? dgain.x[j][k] : which == 1 ? dbias.x[j][k] : total.x[j][k];
        __syncthreads();
        for (int c = threadIdx.x; c < WIDTH; c += blockDim.x) {
            float sum = 0.f;
#pragma unroll
            for (int w = 0; w < WARPS; w++) sum += shared[w][c];
            partial[(blockIdx.x * 3 + which) * (long long)WIDTH + c] = sum;
        }
    }
}
extern "C" __global__ void __launch_bounds__(256, 2) norm_back_bf16(const float* x, const bf16* dy, const float* gain,
                                                                 const bf16* arrived, bf16* dx, float* partial,
                                                                 long long rows, float epsilon) {
    backward(x, dy, gain, arrived, dx, partial, rows, epsilon);
}
extern "C" __global__ void __launch_bounds__(256) norm_back_f32(const float* x, const float* dy, const float* gain,
                                                                const float* arrived, float* dx, float* partial,
                                                                long long rows, float epsilon) {
    backward(x, dy, gain, arrived, dx, partial, rows, epsilon);
}

// Adds up the blocks' sums of kind `first` and, in blocks of the second row, of the next kind, on top of what is there
// if asked: 32 columns a block, a warp every 32nd of the blocks' sums.
extern "C" __global__ void __launch_bounds__(1024) norm_sums(const float* partial, float* to_first, float* to_second,
                                                             int blocks, int first, int accumulate) {
    __shared__ float shared[32][32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, column = blockIdx.x * 32 + lane;
    float sum = 0.f;
    if (column < WIDTH)
#pragma unroll 8
        for (int b = warp; b < blocks; b += 32) sum += partial[(b * 3 + first + blockIdx.y) * (long long)WIDTH + column];
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp || column >= WIDTH) return;
    float* to = (blockIdx.y ? to_second : to_first) + column;
    sum = accumulate ? *to : 0.f;
#pragma unroll
    for (int w = 0; w < 32; w++) sum += shared[w][lane];
    *to = sum;
}
