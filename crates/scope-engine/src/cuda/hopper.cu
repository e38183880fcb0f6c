// What Hopper adds: barriers that count bytes, boxes copied by the tensor memory unit, products of four warps.

// A description of a matrix in memory, made by the driver.
struct __align__(64) TensorMap {
    u64 words[16];
};

__device__ __forceinline__ void barrier_begin(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Waits for the end of the phase of this parity.
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(barrier), "r"(parity) : "memory");
}

// A box of a matrix from (row, column) on into shared memory; what lies outside the matrix is zero.
__device__ __forceinline__ void load_box(u32 to, const TensorMap& map, int column, int row, u32 barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier) : "memory");
}
// A box back; what lies outside the matrix is left out.
__device__ __forceinline__ void store_box(u32 from, const TensorMap& map, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(column), "r"(row), "r"(from) : "memory");
}
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all but LEFT groups of stores have read shared memory.
template <int LEFT> __device__ __forceinline__ void await_stores() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
// Makes what was written to shared memory visible to copies of boxes and to products.
__device__ __forceinline__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Threads of some warps meet at a named barrier, or leave a sign there without waiting.
__device__ __forceinline__ void meet(int name, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory"); }
__device__ __forceinline__ void sign(int name, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory"); }

// Four 8 x 8 matrices of bf16, one a register, to the rows whose addresses the lanes have: lane 8 i + r that of row r of
// matrix i.
__device__ __forceinline__ void store_matrices(u32 at, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

// A matrix of bf16 in shared memory as the products want it described: rows of 128 bytes whose 16-byte chunks change
// places with the row (chunk c of row r at c ^ (r & 7)). `leading` and `stride` in bytes: if the summed index runs along
// the rows, `stride` is between groups of eight rows; if it numbers the rows, `stride` is between groups of eight of it and
// `leading` between groups of 64 of the other index.
__device__ __forceinline__ u64 matrix(u32 start, u32 leading, u32 stride) {
    return (u64)((start & 0x3ffffu) >> 4) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | 1ull << 62;
}
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

#define C8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
// c = (add ? c : 0) + a b for 64 rows, 128 columns and a depth of 16. Lane 4 g + t of warp w has of the rows 16 w + g and
// 16 w + g + 8 the columns 8 j + 2 t and the next: c[4 j], c[4 j + 1] and c[4 j + 2], c[4 j + 3].
template <int ROWS_OF_B> __device__ __forceinline__ void multiply_64x128(float* c, u64 a, u64 b, int add) {
    asm volatile("{ .reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, p, 1, 1, 0, %67; }"
                 : C8(0), C8(8), C8(16), C8(24), C8(32), C8(40), C8(48), C8(56)
                 : "l"(a), "l"(b), "r"(add), "n"(ROWS_OF_B));
}
#define C32 C8(0), C8(8), C8(16), C8(24)
#define LIST32                                                                                                         \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                          \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
// The same for 64 columns, c[4 j] for j below 8; either factor may have the summed index numbering its rows.
template <int ROWS_OF_A, int ROWS_OF_B> __device__ __forceinline__ void multiply_64x64(float* c, u64 a, u64 b, int add) {
    asm volatile("{ .reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " LIST32 "%32, %33, p, 1, 1, %35, %36; }"
                 : C32 : "l"(a), "l"(b), "r"(add), "n"(ROWS_OF_A), "n"(ROWS_OF_B));
}
// The same with a in registers, as `multiply` has it, and b with the summed index numbering its rows.
__device__ __forceinline__ void multiply_64x64(float* c, const u32* a, u64 b, int add) {
    asm volatile("{ .reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " LIST32 "{%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : C32 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
// Sixteen columns of a result as the left factor of a product: two neighbouring groups of eight.
__device__ __forceinline__ void as_left(u32* a, const float* c) {
    a[0] = pack(c[0], c[1]), a[1] = pack(c[2], c[3]), a[2] = pack(c[4], c[5]), a[3] = pack(c[6], c[7]);
}
