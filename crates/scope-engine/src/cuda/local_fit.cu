// Local polynomial fits of the sensors, in double precision on the matrix units.
//
// The moments sum over q of m_q W_k(q0 - p0) W_l(q1 - p1), W_k(d) = exp(-d^2 / 2 s^2) (d / s)^k, are two products with banded
// matrices. A block has eight rows of pixels of one field of one sample: it sums over rows q0 first, S_k(p0, q1), which it keeps
// in shared memory, five for the mask and three for the values; then over columns q1, a tile of eight columns a warp. A lane then
// has all moments of two pixels in its registers, and solves their normal equations. A block that sees no sensor writes zeros.

// AHEAD steps' loads are under way at a time, since nothing else hides how long they take.
constexpr int POWERS = 5, SUMS = 8, ROWS = 8, WARPS = 4, PAD = 12, AHEAD = 14;
// Normalised coefficients are clamped to this.
constexpr float CLAMP = 5.f;

struct Fit {
    int fields, height, width;
    int reach0, reach1, periodic0, periodic1;
    int columns;   // of pixels in a block, a multiple of eight
    int halo;      // reach1, rounded up to a multiple of four
    int wraps;     // whether a block has all columns of a periodic axis, and finds those beyond its ends at the other end
    int stride;    // of a row of sums
    int channel;   // the scale's first among the output's
    int channels;  // of the output
    double scale, ridge, ridge_curved;
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

// W_k(d) for d = -reach - PAD to reach + PAD, zero beyond the reach: [POWERS, 2 (reach + PAD) + 1].
__device__ __forceinline__ void tabulate(double* table, int reach, double scale) {
    int length = 2 * (reach + PAD) + 1;
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        int pixels = i - reach - PAD;
        double d = pixels / scale, w = abs(pixels) <= reach ? exp(-0.5 * d * d) : 0.0;
#pragma unroll
        for (int k = 0; k < POWERS; k++, w *= d) table[k * length + i] = w;
    }
}

// Where a row or a column is, or -1 if there is none.
__device__ __forceinline__ int place(int at, int length, int periodic) {
    if (at >= 0 && at < length) return at;
    if (!periodic) return -1;
    at = at < 0 ? at + length : at - length;
    return at >= 0 && at < length ? at : -1;
}

// S_k(p0, q1) of one tile of eight columns, for the eight rows from `row`; whether there is any sensor.
__device__ __forceinline__ bool sum_rows(const Fit& fit, const float* values, const float* masks, bool edge,
                                         float edge_value, const double* table, int row, int column,
                                         double (&sums)[SUMS][2]) {
    int lane = threadIdx.x & 31, length = 2 * (fit.reach0 + PAD) + 1;
    int q1 = place(column + (lane >> 2), fit.width, fit.periodic1);
    int from = row - fit.reach0, to = row + ROWS + fit.reach0;
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
                mask[s] = 1.f, value[s] = edge_value;
        }
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            if (!__any_sync(0xffffffffu, mask[s] != 0.f)) continue;
            seen = true;
            const double* weight = table + first + 4 * s + (lane & 3) - (row + (lane >> 2)) + fit.reach0 + PAD;
            double m = mask[s], v = value[s];
#pragma unroll
            for (int k = 0; k < POWERS; k++) {
                double w = weight[k * length];
                multiply(sums[k], w, m);
                if (k < SUMS - POWERS) multiply(sums[POWERS + k], w, v);
            }
        }
    }
    return seen;
}

// The moments [power of x][power of y] of a tile of pixels: of the mask up to the fourth, of the values up to the second.
struct Moments {
    double mask[POWERS][POWERS][2], value[3][3][2];
};

__device__ __forceinline__ void sum_columns(const Fit& fit, const double* sums, const double* table, int from, int to,
                                            int offset, Moments& moments) {
    int lane = threadIdx.x & 31, length = 2 * (fit.reach1 + PAD) + 1;
    const double* rows = sums + (lane >> 2) * fit.stride + (lane & 3);
    // q1 - p1 for this lane's row and column of the table as a matrix.
    const double* weights = table - offset + (lane & 3) - (lane >> 2) + fit.reach1 + PAD;
#pragma unroll 2
    for (int f = from; f < to; f += 4) {
        int at = !fit.wraps ? f : f < 0 ? f + fit.width : f >= fit.width ? f - fit.width : f;
        double w[POWERS], s[SUMS];
#pragma unroll
        for (int l = 0; l < POWERS; l++) w[l] = weights[l * length + f];
#pragma unroll
        for (int k = 0; k < SUMS; k++) s[k] = rows[k * ROWS * fit.stride + at];
#pragma unroll
        for (int k = 0; k < POWERS; k++)
#pragma unroll
            for (int l = 0; l < POWERS - k; l++) multiply(moments.mask[k][l], s[k], w[l]);
#pragma unroll
        for (int k = 0; k < 3; k++)
#pragma unroll
            for (int l = 0; l < 3 - k; l++) multiply(moments.value[k][l], s[POWERS + k], w[l]);
    }
}

// The coefficients of 1, x, y, x^2/2, xy, y^2/2 of a lane's two pixels, by A = L L^T; both at once, since each waits for itself.
__device__ __forceinline__ void solve(const Fit& fit, const Moments& moments, double (&c)[6][2]) {
    constexpr int X[6] = {0, 1, 0, 2, 1, 0}, Y[6] = {0, 0, 1, 0, 1, 2};
    constexpr double FACTOR[6] = {1., 1., 1., .5, 1., .5};
    double lower[6][6][2], inverse[6][2];
#pragma unroll
    for (int j = 0; j < 6; j++)
#pragma unroll
        for (int i = j; i < 6; i++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                double entry = moments.mask[X[i] + X[j]][Y[i] + Y[j]][e] * (FACTOR[i] * FACTOR[j]);
#pragma unroll
                for (int k = 0; k < j; k++) entry -= lower[i][k][e] * lower[j][k][e];
                if (i == j)
                    inverse[j][e] = rsqrt(fmax(entry + (j < 3 ? fit.ridge : fit.ridge_curved), 1e-12));
                else
                    lower[i][j][e] = entry * inverse[j][e];
            }
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            c[i][e] = moments.value[X[i]][Y[i]][e] * FACTOR[i];
#pragma unroll
            for (int j = 0; j < i; j++) c[i][e] -= lower[i][j][e] * c[j][e];
            c[i][e] *= inverse[i][e];
        }
#pragma unroll
    for (int i = 5; i >= 0; i--)
#pragma unroll
        for (int e = 0; e < 2; e++) {
#pragma unroll
            for (int j = i + 1; j < 6; j++) c[i][e] -= lower[j][i][e] * c[j][e];
            c[i][e] *= inverse[i][e];
        }
}

// Writes the normalised coefficients of a lane's two pixels.
template <typename Out>
__device__ __forceinline__ void write(const Fit& fit, const float* divisors, Out* out, int sample, int field, int p0, int p1,
                                      const double (&c)[6][2]) {
    if (p0 >= fit.height) return;
#pragma unroll
    for (int k = 0; k < 6; k++) {
        int channel = fit.channel + field * 6 + k;
        Out* to = out + (((long long)sample * fit.channels + channel) * fit.height + p0) * fit.width + p1;
        float x[2];
#pragma unroll
        for (int e = 0; e < 2; e++)
            x[e] = divisors ? fminf(fmaxf((float)c[k][e] / divisors[channel], -CLAMP), CLAMP) : (float)c[k][e];
        if (p1 + 1 < fit.width && (fit.width & 1) == 0) {
            Vector<2> pair = {{x[0], x[1]}};
            pair.store(to);
        } else {
            if (p1 < fit.width) store(to, x[0]);
            if (p1 + 1 < fit.width) store(to + 1, x[1]);
        }
    }
}

template <typename Out>
__device__ __forceinline__ void local_fit(const Fit& fit, const Edges& edges, const float* context, const int* sensors,
                                          const float* divisors, Out* out) {
    extern __shared__ double memory[];
    int across = (fit.width + fit.columns - 1) / fit.columns, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int row = blockIdx.x / across * ROWS, column = blockIdx.x % across * fit.columns;
    int sample = blockIdx.y / fit.fields, field = blockIdx.y % fit.fields;
    long long pixels = (long long)fit.height * fit.width;
    const float* values = context + (long long)(sample * fit.fields + field) * 2 * pixels;
    double *sums = memory, *table0 = sums + SUMS * ROWS * fit.stride, *table1 = table0;
    tabulate(table0, fit.reach0, fit.scale);
    if (fit.reach1 != fit.reach0) {
        table1 += POWERS * (2 * (fit.reach0 + PAD) + 1);
        tabulate(table1, fit.reach1, fit.scale);
    }
    __syncthreads();
    // The columns that matter: from q1 = first on, all multiples of four.
    int first = column - fit.halo, end = column + fit.columns + fit.halo;
    if (!fit.periodic1 || fit.wraps) first = max(first, 0), end = min(end, (fit.width + 7) / 8 * 8);
    bool seen = false, edge = edges.known >> field & 1;
    if (!sensors[blockIdx.y]) end = first;
    for (int tile = warp; tile * 8 < end - first; tile += WARPS) {
        double s[SUMS][2] = {};
        seen |= sum_rows(fit, values, values + pixels, edge, edge ? edges.value[field] : 0.f, table0, row,
                         first + tile * 8, s);
#pragma unroll
        for (int k = 0; k < SUMS; k++)
            *(double2*)(sums + (k * ROWS + (lane >> 2)) * fit.stride + tile * 8 + 2 * (lane & 3)) =
                make_double2(s[k][0], s[k][1]);
    }
    seen = __syncthreads_or(seen);
    for (int tile = warp; tile * 8 < fit.columns && column + tile * 8 < fit.width; tile += WARPS) {
        int offset = column + tile * 8 - first;  // of the tile's first pixel among the sums
        int from = offset - fit.halo, to = offset + 8 + fit.halo;
        if (!fit.wraps) from = max(from, 0), to = min(to, end - first);
        double c[6][2] = {};
        if (seen) {
            Moments moments = {};
            sum_columns(fit, sums, table1, from, to, offset, moments);
            solve(fit, moments, c);
        }
        write(fit, divisors, out, sample, field, row + (lane >> 2), column + tile * 8 + 2 * (lane & 3), c);
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
    extern "C" __global__ __launch_bounds__(32 * WARPS, 3) void name(                                                  \
        const float* context, const int* sensors, const float* divisors, Out* out, double scale, double ridge, double ridge_curved,        \
        int fields, int height, int width, int reach0, int reach1, int periodic0, int periodic1, int columns,          \
        int wraps, int stride, int channel, int channels, int known, float e0, float e1, float e2, float e3) {         \
        Fit fit{fields, height, width, reach0, reach1, periodic0, periodic1, columns,                                  \
                (reach1 + 3) / 4 * 4, wraps, stride, channel, channels, scale, ridge, ridge_curved};                   \
        local_fit(fit, Edges{known, {e0, e1, e2, e3}}, context, sensors, divisors, out);                                                                        \
    }
LOCAL_FIT(local_fit_f32, float)
LOCAL_FIT(local_fit_bf16, bf16)
