// Losses: sums in double precision over fixed pieces, added in order by the last block.

// Partial sums of one block; the last block to come adds all of them up, in order, in thread 0 of it.
__device__ __forceinline__ bool total_of(double value, double* partial, u32* counter, u32 blocks, double* total) {
    value = block_sum(value);
    if (threadIdx.x == 0) partial[blockIdx.x] = value;
    if (!last_to_arrive(counter, blocks)) return false;
    double sum = 0.;
    for (u32 i = threadIdx.x; i < blocks; i += blockDim.x) sum += __ldcg(partial + i);
    *total = block_sum(sum);
    return threadIdx.x == 0;
}

// Sums of squared differences of each pair (sample and channel), `pieces` blocks a pair.
extern "C" __global__ void distance(const float* p, const float* t, const float* w, float* loss, float* distances,
                                    double* partial, u32* counter, long long each, int pairs, int pieces) {
    int pair = blockIdx.x / pieces, piece = blockIdx.x % pieces;
    double sum = 0.;
    for (long long i = piece * (long long)blockDim.x + threadIdx.x; i < each; i += (long long)pieces * blockDim.x) {
        float d = p[pair * each + i] - t[pair * each + i];
        sum += (double)d * d;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (!last_to_arrive(counter, gridDim.x)) return;
    double total = 0.;
    for (int k = threadIdx.x; k < pairs; k += blockDim.x) {
        double squares = 0.;
        for (int piece = 0; piece < pieces; piece++) squares += __ldcg(partial + k * pieces + piece);
        double length = sqrt(squares);
        distances[k] = (float)length;
        total += length * w[k];
    }
    total = block_sum(total);
    if (threadIdx.x == 0) *loss = (float)(total / pairs);
}

// dp = g w / pairs (p - t) / |p - t|, and 0 where the two are equal.
extern "C" __global__ void distance_back(const float* p, const float* t, const float* w, const float* distances,
                                         const float* g, float* out, long long count, long long each, int pairs) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count;
         i += (long long)gridDim.x * blockDim.x) {
        int pair = (int)(i / each);
        float d = distances[pair], factor = d > 0.f ? *g / pairs * w[pair] / d : 0.f;
        out[i] = factor * (p[i] - t[i]);
    }
}

// Sums of absolute differences of each pair (sample and channel), `pieces` blocks a pair; L = sum of w times their means, over
// `batch` samples.
extern "C" __global__ void absolute(const float* p, const float* t, const float* w, float* loss, double* partial,
                                    u32* counter, long long each, int pairs, int pieces, int batch) {
    int pair = blockIdx.x / pieces, piece = blockIdx.x % pieces;
    double sum = 0., total;
    for (long long i = piece * (long long)blockDim.x + threadIdx.x; i < each; i += (long long)pieces * blockDim.x)
        sum += fabs((double)p[pair * each + i] - (double)t[pair * each + i]);
    if (total_of(sum * w[pair], partial, counter, gridDim.x, &total))
        *loss = (float)(total / ((double)each * batch));
}

// dp = g w / (batch each) sign(p - t), and 0 where the two are equal.
extern "C" __global__ void absolute_back(const float* p, const float* t, const float* w, const float* g, float* out,
                                         long long count, long long each, int batch) {
    float share = *g * (float)(1. / ((double)each * batch));
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count;
         i += (long long)gridDim.x * blockDim.x) {
        float d = p[i] - t[i], factor = share * w[i / each];
        out[i] = d > 0.f ? factor : d < 0.f ? -factor : 0.f;
    }
}

extern "C" __global__ void mean_square(const float* x, const float* t, float* loss, double* partial, u32* counter,
                                       long long n) {
    double sum = 0., total;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        float d = x[i] - t[i];
        sum += (double)d * d;
    }
    if (total_of(sum, partial, counter, gridDim.x, &total)) *loss = (float)(total / n);
}

extern "C" __global__ void mean_square_back(const float* x, const float* t, const float* g, float* out, long long n) {
    float factor = *g * (float)(2. / n);
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        out[i] = factor * (x[i] - t[i]);
}

// The mean and deviation of a coordinate over the batch.
__device__ __forceinline__ float2 coordinate(const float* z, int batch, long long coordinates) {
    float sum = 0.f, squares = 0.f;
    for (int b = 0; b < batch; b++) sum += z[b * coordinates];
    float mean = sum / batch;
    for (int b = 0; b < batch; b++) {
        float d = z[b * coordinates] - mean;
        squares = fmaf(d, d, squares);
    }
    return make_float2(mean, sqrtf(squares / batch));
}

// A thread a coordinate: its moments, and its share of the loss.
extern "C" __global__ void spread(const float* z, float* loss, float* moments, double* partial, u32* counter,
                                  int batch, long long coordinates, float floor) {
    long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    double share = 0., total;
    if (j < coordinates) {
        float2 m = coordinate(z + j, batch, coordinates);
        float gap = fmaxf(floor - m.y, 0.f);
        moments[j] = m.x;
        moments[coordinates + j] = m.y;
        share = (double)gap * gap;
    }
    if (total_of(share, partial, counter, gridDim.x, &total)) *loss = (float)(total / coordinates);
}

// The mean deviation of a coordinate.
extern "C" __global__ void mean_spread(const float* z, float* mean, double* partial, u32* counter, int batch,
                                       long long coordinates) {
    long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    double total, deviation = j < coordinates ? coordinate(z + j, batch, coordinates).y : 0.;
    if (total_of(deviation, partial, counter, gridDim.x, &total)) *mean = (float)(total / coordinates);
}

// dz = -2 g max(0, floor - s) (z - mean) / (coordinates batch s), and 0 where s = 0.
extern "C" __global__ void spread_back(const float* z, const float* moments, const float* g, float* out, int batch,
                                       long long coordinates, float floor) {
    long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (j >= coordinates) return;
    float mean = moments[j], s = moments[coordinates + j];
    float factor = s > 0.f ? -2.f * *g * fmaxf(floor - s, 0.f) / (s * ((float)coordinates * batch)) : 0.f;
    for (int b = 0; b < batch; b++) out[b * coordinates + j] = factor * (z[b * coordinates + j] - mean);
}
