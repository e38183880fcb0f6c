// A linear layer shared by heads, as one product with a matrix of blocks; offsets of fields.

// The weight [n, k] and bias [n] of all heads: blocks on the diagonal of [heads n, heads k], and the bias in turn.
template <typename T>
__device__ __forceinline__ void blocks_in(const float* w, const float* b, T* out, float* bias, int n, int k, int heads) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x, width = (long long)heads * k;
    if (i >= heads * n * width) return;
    int row = (int)(i / width), column = (int)(i % width);
    store(out + i, row / n == column / k ? w[row % n * k + column % k] : 0.f);
    if (column == 0) bias[row] = b[row % n];
}
extern "C" __global__ void blocks_bf16(const float* w, const float* b, bf16* out, float* bias, int n, int k, int heads) {
    blocks_in(w, b, out, bias, n, k, heads);
}
extern "C" __global__ void blocks_f32(const float* w, const float* b, float* out, float* bias, int n, int k, int heads) {
    blocks_in(w, b, out, bias, n, k, heads);
}
// The gradient of the shared weight (or, with k = 0, of the bias [n] from [heads, n]) from that of all heads.
extern "C" __global__ void blocks_back(const float* blocks, float* gradient, int n, int k, int heads, int accumulate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, width = max(k, 1);
    if (i >= n * width) return;
    float sum = 0.f;
    for (int h = 0; h < heads; h++)
        sum += k ? blocks[(long long)(h * n + i / k) * heads * k + h * k + i % k] : blocks[h * n + i];
    gradient[i] = sum + (accumulate ? gradient[i] : 0.f);
}

// y[row, point] += offset[row % fields].
extern "C" __global__ void add_offset(float* y, const float* offset, long long count, int points, int fields) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) y[i] += offset[quotient(i, points) % fields];
}
// The sum of dy over batch and points for each field. A block sums the points of a row [batch, fields]; the last block to
// come adds up the rows of each field, in order, a warp a field.
extern "C" __global__ void offset_back(const float* dy, float* gradient, double* partial, u32* counter, int points,
                                       int fields, int accumulate) {
    double sum = 0.;
    const float* row = dy + (long long)blockIdx.x * points;
    for (int p = threadIdx.x; p < points; p += blockDim.x) sum += row[p];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (!last_to_arrive(counter, gridDim.x)) return;
    int lane = threadIdx.x & 31;
    for (int field = threadIdx.x >> 5; field < fields; field += blockDim.x >> 5) {
        double total = 0.;
        for (u32 k = field + lane * fields; k < gridDim.x; k += 32 * fields) total += __ldcg(partial + k);
        total = warp_sum(total);
        if (lane == 0) gradient[field] = (float)total + (accumulate ? gradient[field] : 0.f);
    }
}
