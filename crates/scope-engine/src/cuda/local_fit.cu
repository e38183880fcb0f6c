// Local polynomial fits of the sensors, in double precision on the tensor cores.
//
// The moments sum over q of m_q W_k(q0 - p0) W_l(q1 - p1), W_k(d) = exp(-d^2 / 2 s^2) (d / s)^k, are two products with banded
// matrices. A block has 8 x COLUMNS points (16 or 32) of one field of one sample. CHUNK columns of pixels at a time, it sums over rows q0 first, S_k(p0, q1), which it
// keeps in shared memory for the mask and for the values; then over columns q1: tiles of eight columns of points, the moments of each
// shared by four warps. The moments of all points then take the place of the sums, and sixteen lanes solve the normal equations of a
// point, a row each.

// COLUMNS and DEGREE, two or four, are given when this is compiled.
constexpr int ROWS = 8, PARTS = 4, WARPS = COLUMNS / 8 * PARTS, CHUNK = 8 * WARPS, STRIDE = CHUNK + 4, AHEAD = 6, MOST = 16;
constexpr int POINTS = ROWS * COLUMNS, SPACED = POINTS + 2, PIVOTS = 34;
// Normalised coefficients are clamped to this, and a pixel of a known edge counts this much.
constexpr float CLAMP = 5.f, EDGE_WEIGHT = 0.01f;

// Powers of x and y of the functions of the basis, x^k y^l / (k! l!), and these factors.
constexpr int X[15] = {0, 1, 0, 2, 1, 0, 3, 2, 1, 0, 4, 3, 2, 1, 0}, Y[15] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4};
constexpr double FACTOR[15] = {1.,      1.,     1.,      .5,      1.,     .5,     1. / 6.,  .5,
                               .5,      1. / 6., 1. / 24., 1. / 6., .25,    1. / 6., 1. / 24.};
// The same for a lane to look up.
__constant__ int LANE_X[16] = {0, 1, 0, 2, 1, 0, 3, 2, 1, 0, 4, 3, 2, 1, 0, 0}, LANE_Y[16] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4, 0};
__constant__ double LANE_FACTOR[16] = {1.,      1.,      1.,       .5,      1.,  .5,      1. / 6.,  .5,
                                       .5,      1. / 6., 1. / 24., 1. / 6., .25, 1. / 6., 1. / 24., 0.};

// Moments of fits of degree D: of the mask x^k y^l up to k + l = 2 D, of the values up to D, one after the other; and which of the four
// warps sums those with a power k of x.
template <int D> struct Degree;
template <> struct Degree<2> {
    static constexpr int MASK_PART[5] = {0, 1, 2, 2, 2}, VALUE_PART[3] = {3, 3, 1};
};
template <> struct Degree<4> {
    static constexpr int MASK_PART[9] = {0, 1, 1, 2, 2, 3, 3, 3, 3}, VALUE_PART[5] = {0, 2, 3, 3, 3};
};
template <int D> struct Sizes {
    static constexpr int M = 2 * D + 1, N = D + 1, SUMS = M + N, MASKS = M * (M + 1) / 2, K = N * (N + 1) / 2, ALL = MASKS + K;
};
template <int D> __device__ __forceinline__ constexpr int mask_moment(int k, int l) {
    return k * Sizes<D>::M - k * (k - 1) / 2 + l;
}
template <int D> __device__ __forceinline__ constexpr int value_moment(int k, int l) {
    return Sizes<D>::MASKS + k * Sizes<D>::N - k * (k - 1) / 2 + l;
}

struct Fit {
    int fields, height, width, step;  // step: pixels from one point to the next
    int reach0, reach1;               // how far a sensor may lie from step times a point's number
    int periodic0, periodic1;
    int pad;       // zeros at each end of a table
    int channel;   // the scale's first among the output's
    int channels;  // of the output
    double scale, far;
};

// What the square of each coefficient of each field costs.
struct Ridges {
    double of[4][15];
};

// What is known along the edge of each field: a bit for each that is known, and the values.
struct Edges {
    int known;
    float value[4];
};

// c += a b for a [8, 4], b [4, 8]: lane l has a[l / 4][l % 4], b[l % 4][l / 4] and c[l / 4][2 (l % 4)] with its neighbour.
__device__ __forceinline__ void multiply(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

// W_k of a sensor on pixel i from a point's first pixel, for i = -reach - pad to reach + pad, zero beyond the reach: [powers, 2 (reach +
// pad) + 1]. A point is the centre of its step pixels.
__device__ __forceinline__ void tabulate(double* table, int powers, int reach, const Fit& fit, double half) {
    int length = 2 * (reach + fit.pad) + 1;
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        double pixels = i - reach - fit.pad - 0.5 * (fit.step - 1), d = pixels / fit.scale;
        double w = fabs(pixels) <= fit.far && fabs(pixels) < half ? exp(-0.5 * d * d) : 0.0;
        for (int k = 0; k < powers; k++, w *= d) table[k * length + i] = w;
    }
}

// Where a row or a column is, or -1 if there is none.
__device__ __forceinline__ int place(int at, int length, int periodic) {
    if (at >= 0 && at < length) return at;
    if (!periodic) return -1;
    at %= length;
    return at < 0 ? at + length : at;
}

// S_k(p0, q1) of one tile of eight columns, for eight rows of points from `row`; whether there is any sensor.
template <int D>
__device__ __forceinline__ bool sum_rows(const Fit& fit, const float* values, const float* masks, bool edge, float edge_value,
                                         const double* table, int row, int column, double (&sums)[Sizes<D>::SUMS][2]) {
    constexpr int M = Sizes<D>::M, N = Sizes<D>::N;
    int lane = threadIdx.x & 31, length = 2 * (fit.reach0 + fit.pad) + 1;
    int q1 = place(column + (lane >> 2), fit.width, fit.periodic1);
    int from = row * fit.step - fit.reach0, to = (row + ROWS - 1) * fit.step + fit.reach0 + 1;
    bool seen = false;
    if (!fit.periodic0) from = max(from, 0), to = min(to, fit.height);
    for (int first = from; first < to; first += 4 * AHEAD) {
        float value[AHEAD], mask[AHEAD];
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            int at = first + 4 * s + (lane & 3), q0 = at < to ? place(at, fit.height, fit.periodic0) : -1;
            bool inside = q0 >= 0 && q1 >= 0;
            mask[s] = inside ? masks[(long long)q0 * fit.width + q1] : 0.f;
            value[s] = inside ? values[(long long)q0 * fit.width + q1] : 0.f;
            if (edge && inside && (q0 == 0 || q0 == fit.height - 1 || q1 == 0 || q1 == fit.width - 1))
                mask[s] = EDGE_WEIGHT, value[s] = EDGE_WEIGHT * edge_value;
        }
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            if (!__any_sync(0xffffffffu, mask[s] != 0.f)) continue;
            seen = true;
            const double* weight =
                table + first + 4 * s + (lane & 3) - (row + (lane >> 2)) * fit.step + fit.reach0 + fit.pad;
            double m = mask[s], v = value[s];
#pragma unroll
            for (int k = 0; k < M; k++) {
                double w = weight[k * length];
                multiply(sums[k], w, m);
                if (k < N) multiply(sums[M + k], w, v);
            }
        }
    }
    return seen;
}

// Adds what columns first to first + CHUNK bring to the moments of one part, for eight columns of points from `column`.
template <int D, int PART>
__device__ __forceinline__ void sum_columns(const Fit& fit, const double* sums, const double* table, int first, int column,
                                            double (&moments)[MOST][2]) {
    constexpr int M = Sizes<D>::M, N = Sizes<D>::N;
    int lane = threadIdx.x & 31, length = 2 * (fit.reach1 + fit.pad) + 1, limit = fit.reach1 + fit.pad;
    const double* rows = sums + (lane >> 2) * STRIDE + (lane & 3);
    int away = first + (lane & 3) - (column + (lane >> 2)) * fit.step;
    for (int f = 0; f < CHUNK; f += 4) {
        int i = min(max(away + f, -limit), limit);  // both ends are zero
        const double* weights = table + i + limit;
        double w[M];
#pragma unroll
        for (int l = 0; l < M; l++) w[l] = weights[l * length];
        int n = 0;
#pragma unroll
        for (int k = 0; k < M; k++)
            if (Degree<D>::MASK_PART[k] == PART) {
                double s = rows[k * ROWS * STRIDE + f];
#pragma unroll
                for (int l = 0; l < M - k; l++) multiply(moments[n++], s, w[l]);
            }
#pragma unroll
        for (int k = 0; k < N; k++)
            if (Degree<D>::VALUE_PART[k] == PART) {
                double s = rows[(M + k) * ROWS * STRIDE + f];
#pragma unroll
                for (int l = 0; l < N - k; l++) multiply(moments[n++], s, w[l]);
            }
    }
}

// Puts the moments of one part where the solver finds them: [all, SPACED], so that different moments of a point are in different banks.
template <int D, int PART>
__device__ __forceinline__ void keep(double* all, int tile, const double (&moments)[MOST][2]) {
    constexpr int M = Sizes<D>::M, N = Sizes<D>::N;
    int lane = threadIdx.x & 31, n = 0;
    double* to = all + tile * 64 + (lane >> 2) * 8 + 2 * (lane & 3);
#pragma unroll
    for (int k = 0; k < M; k++)
        if (Degree<D>::MASK_PART[k] == PART)
#pragma unroll
            for (int l = 0; l < M - k; l++, n++)
                *(double2*)(to + mask_moment<D>(k, l) * SPACED) = make_double2(moments[n][0], moments[n][1]);
#pragma unroll
    for (int k = 0; k < N; k++)
        if (Degree<D>::VALUE_PART[k] == PART)
#pragma unroll
            for (int l = 0; l < N - k; l++, n++)
                *(double2*)(to + value_moment<D>(k, l) * SPACED) = make_double2(moments[n][0], moments[n][1]);
}

// The coefficients of a point, one in each of sixteen lanes, by Gauss-Jordan elimination: a lane has a row of A. What is left of A stays
// symmetric, so that row j is made of the j-th entries of all lanes, which pass them through shared memory, [2, 16] in turn.
template <int D>
__device__ __forceinline__ double solve(const double* ridge, const double* all, double* pivots, int point) {
    constexpr int K = Sizes<D>::K;
    int row = threadIdx.x & 15, i = row < K ? row : 0, x = LANE_X[i], y = LANE_Y[i];
    double a[K], b = all[value_moment<D>(x, y) * SPACED + point] * LANE_FACTOR[i], inverse = 0.0;
#pragma unroll
    for (int j = 0; j < K; j++)
        a[j] = all[mask_moment<D>(x + X[j], y + Y[j]) * SPACED + point] * (LANE_FACTOR[i] * FACTOR[j]);
#pragma unroll
    for (int j = 0; j < K; j++) {
        double* pivot_row = pivots + (j & 1) * 16;
        pivot_row[row] = a[j];
        double known = __shfl_sync(0xffffffffu, b, j, 16);
        __syncwarp();
        double one_over = 1.0 / fmax(pivot_row[j] + ridge[j], 1e-12);
        double factor = row == j ? 0.0 : a[j] * one_over;
        if (row == j) inverse = one_over;
        b -= factor * known;
#pragma unroll
        for (int k = (j + 1) / 2 * 2; k < K; k += 2) {
            double2 pair = *(const double2*)(pivot_row + k);
            if (k > j) a[k] -= factor * pair.x;
            if (k + 1 < K) a[k + 1] -= factor * pair.y;
        }
    }
    __syncwarp();
    return b * inverse;
}

// All moments of the block's points, in shared memory; whether there is any sensor.
template <int D>
__device__ __forceinline__ bool sum(const Fit& fit, const float* values, bool edge, float edge_value, double* shared,
                                    const double* table0, const double* table1, int row, int column) {
    constexpr int SUMS = Sizes<D>::SUMS;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, part = warp % PARTS, tile = warp / PARTS;
    int from = column * fit.step - fit.reach1, to = (column + COLUMNS - 1) * fit.step + fit.reach1 + 1;
    if (!fit.periodic1) from = max(from, 0), to = min(to, fit.width);
    const float* masks = values + (long long)fit.height * fit.width;
    double moments[MOST][2] = {};
    bool seen = false;
    for (int first = from; first < to; first += CHUNK) {
        double s[SUMS][2] = {};
        bool any = sum_rows<D>(fit, values, masks, edge, edge_value, table0, row, first + warp * 8, s);
#pragma unroll
        for (int k = 0; k < SUMS; k++)
            *(double2*)(shared + (k * ROWS + (lane >> 2)) * STRIDE + warp * 8 + 2 * (lane & 3)) =
                make_double2(s[k][0], s[k][1]);
        any = __syncthreads_or(any);
        seen |= any;
        if (any) {
            if (part == 0) sum_columns<D, 0>(fit, shared, table1, first, column + tile * 8, moments);
            if (part == 1) sum_columns<D, 1>(fit, shared, table1, first, column + tile * 8, moments);
            if (part == 2) sum_columns<D, 2>(fit, shared, table1, first, column + tile * 8, moments);
            if (part == 3) sum_columns<D, 3>(fit, shared, table1, first, column + tile * 8, moments);
        }
        __syncthreads();
    }
    if (part == 0) keep<D, 0>(shared, tile, moments);
    if (part == 1) keep<D, 1>(shared, tile, moments);
    if (part == 2) keep<D, 2>(shared, tile, moments);
    if (part == 3) keep<D, 3>(shared, tile, moments);
    __syncthreads();
    return seen;
}

template <int D, typename Out>
__device__ __forceinline__ void local_fit(const Fit& fit, const Edges& edges, const Ridges& ridges, const float* context,
                                          const int* sensors, const float* divisors, Out* out) {
    constexpr int K = Sizes<D>::K, SUMMED = Sizes<D>::SUMS * ROWS * STRIDE;
    constexpr int MOMENTS = Sizes<D>::ALL * SPACED, KEPT = MOMENTS + 2 * WARPS * PIVOTS;
    extern __shared__ double memory[];
    int height = fit.height / fit.step, width = fit.width / fit.step, across = (width + COLUMNS - 1) / COLUMNS;
    int row = blockIdx.x / across * ROWS, column = blockIdx.x % across * COLUMNS;
    int sample = blockIdx.y / fit.fields, field = blockIdx.y % fit.fields;
    double *table0 = memory + max(SUMMED, KEPT), *table1 = table0 + Sizes<D>::M * (2 * (fit.reach0 + fit.pad) + 1);
    const float* values = context + (long long)(sample * fit.fields + field) * 2 * fit.height * fit.width;
    bool edge = edges.known >> field & 1, seen = sensors[blockIdx.y];
    if (seen) {
        tabulate(table0, Sizes<D>::M, fit.reach0, fit, fit.periodic0 ? 0.5 * fit.height : 1e300);
        tabulate(table1, Sizes<D>::M, fit.reach1, fit, fit.periodic1 ? 0.5 * fit.width : 1e300);
        __syncthreads();
        seen = sum<D>(fit, values, edge, edge ? edges.value[field] : 0.f, memory, table0, table1, row, column);
    }
    // Two groups of sixteen lanes pass their pivots through other banks.
    double* pivots = memory + MOMENTS + (threadIdx.x >> 4) * PIVOTS;
    int coefficient = threadIdx.x & 15, channel = fit.channel + field * K + coefficient;
    for (int point = threadIdx.x >> 4; point < POINTS; point += 2 * WARPS) {
        double c = seen ? solve<D>(ridges.of[field], memory, pivots, point) : 0.0;
        int p0 = row + point / 8 % 8, p1 = column + point / 64 * 8 + point % 8;
        if (coefficient >= K || p0 >= height || p1 >= width) continue;
        float x = divisors ? fminf(fmaxf((float)c / divisors[channel], -CLAMP), CLAMP) : (float)c;
        store(out + (((long long)sample * fit.channels + channel) * height + p0) * width + p1, x);
    }
}

// Whether each field of each sample has a sensor: a block a field, whose mask comes after its values.
extern "C" __global__ void any_sensor(const float* context, int* sensors, int pixels) {
    const float* mask = context + (2 * (long long)blockIdx.x + 1) * pixels;
    bool any = false;
    for (int i = threadIdx.x; i < pixels; i += blockDim.x) any |= mask[i] != 0.f;
    any = __syncthreads_or(any);
    if (threadIdx.x == 0) sensors[blockIdx.x] = any;
}

#define LOCAL_FIT(name, Out)                                                                                           \
    extern "C" __global__ __launch_bounds__(32 * WARPS, 32 / COLUMNS) void name(                                    \
        const float* context, const int* sensors, const float* divisors, Out* out, double scale, double far,           \
        int fields, int height, int width, int step, int reach0, int reach1, int periodic0, int periodic1, int pad,    \
        int channel, int channels, int known, float e0, float e1, float e2, float e3,                                  \
        const __grid_constant__ Ridges ridges) {                                                                       \
        Fit fit{fields, height, width, step, reach0, reach1, periodic0, periodic1, pad, channel, channels, scale, far}; \
        local_fit<DEGREE>(fit, Edges{known, {e0, e1, e2, e3}}, ridges, context, sensors, divisors, out);               \
    }
LOCAL_FIT(local_fit_f32, float)
LOCAL_FIT(local_fit_bf16, bf16)
