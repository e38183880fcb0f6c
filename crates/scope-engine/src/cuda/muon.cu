// Muon's passes over hidden matrices. A group of matrices of about one size shares room: X[matrix, m, n] in bf16 with m <= n,
// each matrix transposed into it if it has more rows than columns, and zeros beyond its edges, which products keep at zero.

// Where a matrix lies in the flat buffers, row after row.
struct Matrix {
    long long start;
    int rows, columns;
};

// Numbers that a block of the first pass takes, and the side of the tiles of the others.
#define CHUNK 4096
#define TILE 64

__device__ __forceinline__ float shortening(float norm, float max_norm) { return fminf(1.f, max_norm / (norm + 1e-6f)); }

// d = (1 - beta) g + beta b, with b after its step.
__device__ __forceinline__ float nesterov(float g, float b, float beta) { return (1.f - beta) * g + beta * b; }

// b = beta b + (1 - beta) g, and partial[matrix, chunk]: the sum of d^2. Block (chunk, matrix). Nothing happens if the norm is not
// finite.
extern "C" __global__ void __launch_bounds__(256) muon_momentum(float* first, const float* gradient,
                                                                const Matrix* matrices, double* partial,
                                                                const float* norm, float beta, float max_norm) {
    if (!finite(*norm)) return;
    Matrix matrix = matrices[blockIdx.y];
    float factor = shortening(*norm, max_norm);
    long long count = (long long)matrix.rows * matrix.columns, from = (long long)blockIdx.x * CHUNK;
    float sum = 0.f;
#pragma unroll 4
    for (int k = threadIdx.x; k < CHUNK; k += 256) {
        if (from + k >= count) break;
        long long at = matrix.start + from + k;
        float g = gradient[at] * factor;
        float b = beta * first[at] + (1.f - beta) * g;
        first[at] = b;
        float d = nesterov(g, b, beta);
        sum = fmaf(d, d, sum);
    }
    double total = block_sum((double)sum);
    if (threadIdx.x == 0) partial[(long long)blockIdx.y * gridDim.x + blockIdx.x] = total;
}

// Where a block's tile begins in X, and in the matrix itself.
struct Place {
    int row, column, own_row, own_column;
    bool turned;
    __device__ __forceinline__ Place(Matrix matrix, int n) {
        int across = (n + TILE - 1) / TILE;
        row = blockIdx.x / across * TILE, column = blockIdx.x % across * TILE;
        turned = matrix.rows > matrix.columns;
        own_row = turned ? column : row, own_column = turned ? row : column;
    }
};

// X = d / (|d| + epsilon), with b after its step. Block (tile, matrix).
extern "C" __global__ void __launch_bounds__(256) muon_direction(u16* x, const float* first, const float* gradient,
                                                                 const Matrix* matrices, const double* partial,
                                                                 const float* norm, int chunks, int m, int n, float beta,
                                                                 float max_norm, float epsilon) {
    __shared__ float tile[TILE][TILE + 1];
    __shared__ float inverse;
    if (!finite(*norm)) return;
    Matrix matrix = matrices[blockIdx.y];
    Place place(matrix, n);
    float factor = shortening(*norm, max_norm);
    double sum = 0.;
    for (int k = threadIdx.x; k < chunks; k += 256) sum += partial[(long long)blockIdx.y * chunks + k];
    sum = block_sum(sum);
    if (threadIdx.x == 0) inverse = 1.f / ((float)sqrt(sum) + epsilon);
    for (int k = threadIdx.x; k < TILE * TILE; k += 256) {
        int r = k / TILE, c = k % TILE, row = place.own_row + r, column = place.own_column + c;
        float d = 0.f;
        if (row < matrix.rows && column < matrix.columns) {
            long long at = matrix.start + (long long)row * matrix.columns + column;
            d = nesterov(gradient[at] * factor, first[at], beta);
        }
        tile[r][c] = d;
    }
    __syncthreads();
    // Rows of X have even lengths: two neighbours make a word.
    u32* words = (u32*)(x + (long long)blockIdx.y * m * n);
    for (int k = threadIdx.x; k < TILE * TILE / 2; k += 256) {
        int r = k / (TILE / 2), c = k % (TILE / 2) * 2, row = place.row + r, column = place.column + c;
        if (row >= m || column >= n) continue;
        float low = place.turned ? tile[c][r] : tile[r][c];
        float high = place.turned ? tile[c + 1][r] : tile[r][c + 1];
        words[((long long)row * n + column) / 2] = pack(low * inverse, high * inverse);
    }
}

// p = (1 - rate decay) p - rate 0.2 sqrt(max(rows, columns)) X, and the bf16 copy. Block (tile, matrix). scalars[0] times the ratio is
// the rate. Nothing happens if the norm is not finite.
extern "C" __global__ void __launch_bounds__(256) muon_update(float* p, bf16* copy, const u16* x, const Matrix* matrices,
                                                              const float* scalars, const float* norm, int m, int n,
                                                              float ratio, float decay) {
    __shared__ float tile[TILE][TILE + 1];
    if (!finite(*norm)) return;
    Matrix matrix = matrices[blockIdx.y];
    Place place(matrix, n);
    float rate = scalars[0] * ratio, shrink = 1.f - rate * decay;
    float step = rate * 0.2f * sqrtf((float)max(matrix.rows, matrix.columns));
    const u32* words = (const u32*)(x + (long long)blockIdx.y * m * n);
    for (int k = threadIdx.x; k < TILE * TILE / 2; k += 256) {
        int r = k / (TILE / 2), c = k % (TILE / 2) * 2, row = place.row + r, column = place.column + c;
        u32 word = row < m && column < n ? words[((long long)row * n + column) / 2] : 0u;
        tile[r][c] = low_half(word), tile[r][c + 1] = high_half(word);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < TILE * TILE; k += 256) {
        int r = k / TILE, c = k % TILE, row = place.own_row + r, column = place.own_column + c;
        if (row >= matrix.rows || column >= matrix.columns) continue;
        long long at = matrix.start + (long long)row * matrix.columns + column;
        float value = p[at] * shrink - step * (place.turned ? tile[c][r] : tile[r][c]);
        p[at] = value;
        store(copy + at, value);
    }
}
