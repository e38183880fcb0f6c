// Products of bf16 matrices with GELU, on Hopper's tensor cores:
//
//   v[m, n] = x[m, k] w[n, k]^T, or with TURNED x[m, k] w[k, n]
//
//   FOLLOW 0: out = gelu(v + b)
//   FOLLOW 1: out = gelu(v + b), slope = gelu'(v + b)
//   FOLLOW 2: out = v slope, and partial[m / 128, n] = the sums of out over 128 rows
//
// A block of five times four warps stays on its multiprocessor and takes one tile of 128 x 128 after another. The first four warps
// ask for slices of x and w, 64 deep, in a ring of STAGES. The others multiply, in groups of four with 64 rows each, two pairs of
// groups in turn: while one pair is busy with what follows its product, the other's product has the tensor cores.
//
// Sizes need not be multiples of the tile's, but rows are whole chunks of eight numbers: outside the matrices boxes are
// filled with zeros, and nothing is stored.

#ifndef TURNED
#define TURNED 0
#endif
#define TILE 128
#define ROWS 64                       // of a group
#define DEPTH 64
#define SLICE (TILE * DEPTH * 2)      // bytes of one factor of a stage
#define STAGE (2 * SLICE)
#define BOX (ROWS * 64 * 2)           // bytes of half of a group's rows, 64 columns wide
#define RING (STAGES * STAGE)
#define BARRIERS (RING + 4 * 2 * BOX) // after two boxes for each group
#define SUMS (BARRIERS + 256)         // [4 groups][4 warps][128 columns]

struct Tiles {
    int across, all, next;
    __device__ __forceinline__ Tiles(int m, int n) {
        across = (n + TILE - 1) / TILE;
        all = (m + TILE - 1) / TILE * across;
        next = blockIdx.x;
    }
    __device__ __forceinline__ int row() const { return next / across * TILE; }
    __device__ __forceinline__ int column() const { return next % across * TILE; }
};

// Asks for the slices of all tiles of this block, as stages become free.
__device__ __forceinline__ void ask(const TensorMap& x, const TensorMap& w, u32 start, u32 full, u32 empty, int m, int n,
                                    int k) {
    u32 turn = 0;
    for (Tiles tiles(m, n); tiles.next < tiles.all; tiles.next += gridDim.x)
        for (int depth = 0; depth < k; depth += DEPTH, turn++) {
            u32 stage = turn % STAGES, arrived = full + stage * 8;
            u32 left = start + stage * STAGE, right = left + SLICE;
            barrier_wait(empty + stage * 8, (turn / STAGES & 1) ^ 1);
            barrier_expect(arrived, STAGE);
            load_box(left, x, depth, tiles.row(), arrived);
            if (TURNED) {
                load_box(right, w, tiles.column(), depth, arrived);
                load_box(right + SLICE / 2, w, tiles.column() + 64, depth, arrived);
            } else {
                load_box(right, w, depth, tiles.column(), arrived);
            }
        }
}

// The product of a group's rows of one tile, from the ring on from `turn`. The other pair may begin when the last slice is under way.
__device__ __forceinline__ void tile_product(float* c, u32 start, u32 full, u32 empty, u32 turn, int slices, int lane, int group) {
    // The compiler must see that nothing of the tile before is left.
#pragma unroll
    for (int i = 0; i < 64; i++) c[i] = 0.f;
    for (int slice = 0; slice < slices; slice++, turn++) {
        u32 stage = turn % STAGES, left = start + stage * STAGE + (group & 1) * (SLICE / 2), right = start + stage * STAGE + SLICE;
        barrier_wait(full + stage * 8, turn / STAGES & 1);
        products_begin();
#pragma unroll
        for (int s = 0; s < DEPTH / 16; s++) {
            u64 b = TURNED ? matrix(right + s * 2048, SLICE / 2, 1024) : matrix(right + s * 32, 16, 1024);
            multiply_64x128<TURNED>(c, matrix(left + s * 32, 16, 1024), b, 1);
        }
        products_commit();
        if (slice) {
            // The slice before this one has been read.
            products_wait<1>();
            if (lane == 0) barrier_arrive(empty + (turn - 1) % STAGES * 8);
        }
    }
    sign(2 - group / 2, 512);
    products_wait<0>();
    if (lane == 0) barrier_arrive(empty + (turn - 1) % STAGES * 8);
}

// Where row `row` of a box has its chunk: they change places with the row.
__device__ __forceinline__ u32 in_box(int row, int chunk) { return (u32)(row * 128 + ((chunk ^ (row & 7)) << 4)); }

__device__ __forceinline__ void to_box(u32 box, int row, int chunk, const float* v) {
    store_matrices(box + in_box(row, chunk), pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
}

// GELU of a group's rows, and its slope, to boxes and out.
__device__ __forceinline__ void finish_gelu(const float* c, u32 boxes, const TensorMap& out, const TensorMap& slope,
                                            const float* bias, int row, int column, int n, int thread, int name) {
    const int lane = thread & 31, t = lane & 3, at = thread / 32 * 16 + (lane & 15);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        // Alone, out has two boxes in turn.
        const u32 box = boxes + (FOLLOW == 0 ? half * BOX : 0);
        float2 b[8];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int from = column + half * 64 + j * 8 + t * 2;
            b[j] = from < n ? *(const float2*)(bias + from) : make_float2(0.f, 0.f);
        }
        // The last store out of these boxes has read them.
        if (thread == 0) await_stores<FOLLOW == 0>();
        meet(name, 128);
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            const float* v = c + (half * 8 + j) * 4;
            float y[8], d[8];
#pragma unroll
            for (int e = 0; e < 8; e++) {
                float2 both = gelu_and_slope_fast(v[e] + (e & 1 ? b[j + e / 4].y : b[j + e / 4].x));
                y[e] = both.x, d[e] = both.y;
            }
            to_box(box, at, j + (lane >> 4), y);
            if (FOLLOW == 1) to_box(box + BOX, at, j + (lane >> 4), d);
        }
        publish();
        meet(name, 128);
        if (thread == 0) {
            store_box(box, out, column + half * 64, row);
            if (FOLLOW == 1) store_box(box + BOX, slope, column + half * 64, row);
            commit_stores();
        }
    }
}

// The chunks of `slope` that a thread needs of a group's rows: chunk `thread` % 8 of every sixteenth row from `thread` / 8 on, of the
// left box or of the right one.
struct Chunks {
    uint4 now[4];
    __device__ __forceinline__ void load(const bf16* slope, int row, int column, int m, int n) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            now[i] = row + i * 16 < m && column < n ? *(const uint4*)(slope + (size_t)(row + i * 16) * n + column)
                                                    : make_uint4(0, 0, 0, 0);
    }
};

// A group's rows times the slopes, and the sums of their columns: over the rows of a thread, of a warp, and of all, in this order. They
// pass through the boxes, so that a thread has whole chunks; rows outside the matrix are zero.
__device__ __forceinline__ void finish_slope(const float* c, u32 boxes, float* sums, const bf16* slope, bf16* out,
                                             float* partial, int row, int column, int m, int n, int thread, int name) {
    const int lane = thread & 31, warp = thread / 32, chunk = thread & 7, first = thread >> 3;
    meet(name, 128);
#pragma unroll
    for (int j = 0; j < 16; j += 2) to_box(boxes + j / 8 * BOX, warp * 16 + (lane & 15), j % 8 + (lane >> 4), c + 4 * j);
    Chunks ahead;
    ahead.load(slope, row + first, column + chunk * 8, m, n);
    meet(name, 128);
    const unsigned char* box = memory + (boxes - shared_start());
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int to = column + half * 64 + chunk * 8;
        Chunks slopes = ahead;
        if (half == 0) ahead.load(slope, row + first, to + 64, m, n);
        Vector<8> total;
#pragma unroll
        for (int e = 0; e < 8; e++) total.x[e] = 0.f;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int at = first + i * 16;
            Vector<8> v;
            v.load((const bf16*)(box + half * BOX + in_box(at, chunk)));
            Raw<8, bf16> raw;
            raw.v = slopes.now[i];
            Vector<8> d = raw.wide();
#pragma unroll
            for (int e = 0; e < 8; e++) v.x[e] *= d.x[e], total.x[e] += v.x[e];
            if (row + at < m && to < n) v.store(out + (size_t)(row + at) * n + to);
        }
#pragma unroll
        for (int e = 0; e < 8; e++) {
            total.x[e] += from_lane(total.x[e], 8);
            total.x[e] += from_lane(total.x[e], 16);
        }
        if (lane < 8) total.store(sums + warp * TILE + half * 64 + chunk * 8);
    }
    meet(name, 128);
    if (row < m && column + thread < n)
        partial[(size_t)(row / ROWS) * n + column + thread] =
            sums[thread] + sums[TILE + thread] + sums[2 * TILE + thread] + sums[3 * TILE + thread];
}

extern "C" __global__ void __launch_bounds__(640, 1)
    fused_product(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w,
                  const __grid_constant__ TensorMap out, const __grid_constant__ TensorMap slope, const float* bias,
                  const bf16* slopes, bf16* products, float* partial, int m, int n, int k) {
    const u32 start = shared_start(), full = start + BARRIERS, empty = full + STAGES * 8;
    const int group = threadIdx.x / 128 - 1, thread = threadIdx.x & 127;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) barrier_begin(full + s * 8, 1), barrier_begin(empty + s * 8, 8);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    after_previous();
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
        if (threadIdx.x == 0) ask(x, w, start, full, empty, m, n, k);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 112;");
    const int slices = (k + DEPTH - 1) / DEPTH, pair = group / 2;
    const u32 boxes = start + RING + group * 2 * BOX;
    Tiles tiles(m, n);
    u32 turn = pair * slices;
    if (pair) sign(1, 512);
    for (tiles.next += pair * gridDim.x; tiles.next < tiles.all; tiles.next += 2 * gridDim.x, turn += 2 * slices) {
        const int row = tiles.row() + (group & 1) * ROWS, column = tiles.column();
        float c[64];
        meet(1 + pair, 512);
        tile_product(c, start, full, empty, turn, slices, thread & 31, group);
        if (FOLLOW < 2)
            finish_gelu(c, boxes, out, slope, bias, row, column, n, thread, 3 + group);
        else
            finish_slope(c, boxes, (float*)(memory + SUMS) + group * 4 * TILE, slopes, products, partial, row, column, m, n,
                         thread, 3 + group);
    }
    if (FOLLOW < 2 && thread == 0) await_stores<0>();
}
