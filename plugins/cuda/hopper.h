/* plugins/cuda/hopper.h: matrix products on compute capability 9.0: tiles that a copy engine loads into shared memory,
 * barriers that count their bytes, and products that read tiles from there.
 *
 * Tiles are rows of 64 bf16 channels, 128 bytes, whose eight 16-byte pieces are swizzled in the way that the copy
 * engine and the products expect: piece p of the row at address a is at position p ^ (a / 128 mod 8). Since this
 * depends on addresses alone, a product may begin at any row.
 */
#ifndef PV_PLUGIN_HOPPER_H
#define PV_PLUGIN_HOPPER_H

#include <cuda.h>

#include "kernels.h"

#define INLINE static __device__ __forceinline__

enum { ROW = 128, PIECE = 16, EIGHT_ROWS = 8 * ROW };

INLINE uint32_t address_of(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* Offset of a piece of a row from the beginning of a tile, which starts at a multiple of eight rows. */
INLINE uint32_t piece_at(int row, int piece) {
    return (uint32_t)(row * ROW + ((piece ^ (row & 7)) * PIECE));
}

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

INLINE void barrier_make(uint64_t *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_of(barrier)), "r"(arrivals));
}

INLINE void barriers_made(void) {
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}

INLINE void barrier_expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address_of(barrier)), "r"(bytes) : "memory");
}

INLINE void barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address_of(barrier)) : "memory");
}

INLINE void barrier_wait(uint64_t *barrier, uint32_t phase) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(address_of(barrier)),
                 "r"(phase)
                 : "memory");
}

/* Synchronises a group of four warps. */
INLINE void group_wait(int group) {
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Copies a box of an [images][height][width][64] tensor; elements outside the tensor are 0. */
INLINE void copy_box(void *to, const CUtensorMap *map, uint64_t *barrier, int column, int row, int image,
                     int channel = 0) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
                 "%6}], [%2];" ::"r"(address_of(to)),
                 "l"(map), "r"(address_of(barrier)), "r"(channel), "r"(column), "r"(row), "r"(image)
                 : "memory");
}

/* Copy every second line, starting with line `odd`, of a tensor viewed as [images][height / 2][2][width][64], to and
 * from shared memory. */
INLINE void copy_lines(void *to, const CUtensorMap *map, uint64_t *barrier, int odd, int row, int image) {
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %3, %4, "
                 "%5, %6}], [%2];" ::"r"(address_of(to)),
                 "l"(map), "r"(address_of(barrier)), "r"(0), "r"(odd), "r"(row), "r"(image)
                 : "memory");
}

INLINE void store_lines(const void *from, const CUtensorMap *map, int odd, int row, int image) {
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%1, {%2, %2, %3, %4, %5}], [%0];\n"
                 "cp.async.bulk.commit_group;" ::"r"(address_of(from)),
                 "l"(map), "r"(0), "r"(odd), "r"(row), "r"(image)
                 : "memory");
}

/* Waits until this thread's stores have been read from shared memory. */
INLINE void stores_read(void) {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* Makes writes to shared memory visible to the copy engine. */
INLINE void written(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Copies one tap of weights [64][9][64], as rows of the last dimension. */
INLINE void copy_tap(void *to, const CUtensorMap *map, uint64_t *barrier, int tap) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
                 "%5}], [%2];" ::"r"(address_of(to)),
                 "l"(map), "r"(address_of(barrier)), "r"(0), "r"(tap), "r"(0)
                 : "memory");
}

/* Four 8x8 matrices of bf16, transposed, from or to rows of 16 bytes; each lane has the address of one row. */
INLINE void load_turned(uint32_t at, uint32_t *to) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}

/* Two of them, with addresses from the first sixteen lanes. */
INLINE void store_turned(uint32_t at, uint32_t a, uint32_t b) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(a), "r"(b) : "memory");
}

INLINE void load_turned_two(uint32_t at, uint32_t *to) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(at)
                 : "memory");
}

/* Sets all bits of the halves that are above 0. */
INLINE uint32_t above_zero(uint32_t pair) {
    return __hgt2_mask(*reinterpret_cast<__nv_bfloat162 *>(&pair), __float2bfloat162_rn(0.0f));
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Descriptor of the rows of a tile from an address on, for a product. Transposed, with more than 64 columns: columns
 * from 64 on come from the same rows shifted by one, and so forth. */
INLINE uint64_t rows_from(const void *shared) {
    return (uint64_t)((address_of(shared) & 0x3FFFF) >> 4) | (uint64_t)(ROW >> 4) << 16 |
           (uint64_t)(EIGHT_ROWS >> 4) << 32 | 1ull << 62;
}
enum { ROW_UNITS = ROW / 16 }; /* rows_from(p + ROW) - rows_from(p) */

INLINE void products_begin(void) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

INLINE void products_end(void) {
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/* sum [64][columns] = a b, added to the previous sum if more is not 0. A_TURNED, B_TURNED: the rows of a or b run over
 * the summed dimension instead of the rows or columns of the output. */
#define FOUR(i) "+f"(sum[i]), "+f"(sum[(i) + 1]), "+f"(sum[(i) + 2]), "+f"(sum[(i) + 3])

template <int A_TURNED, int B_TURNED> INLINE void product72(float *sum, uint64_t a, uint64_t b, int more) {
    asm volatile("{\n"
                 ".reg .pred more;\n"
                 "setp.ne.b32 more, %38, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n72k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35"
                 "}, %36, %37, more, 1, 1, %39, %40;\n"
                 "}\n"
                 : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28), FOUR(32)
                 : "l"(a), "l"(b), "r"(more), "n"(A_TURNED), "n"(B_TURNED));
}

template <int A_TURNED, int B_TURNED> INLINE void product136(float *sum, uint64_t a, uint64_t b, int more) {
    asm volatile("{\n"
                 ".reg .pred more;\n"
                 "setp.ne.b32 more, %70, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n136k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
                 "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67"
                 "}, %68, %69, more, 1, 1, %71, %72;\n"
                 "}\n"
                 : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28), FOUR(32), FOUR(36),
                   FOUR(40), FOUR(44), FOUR(48), FOUR(52), FOUR(56), FOUR(60), FOUR(64)
                 : "l"(a), "l"(b), "r"(more), "n"(A_TURNED), "n"(B_TURNED));
}

template <int A_TURNED, int B_TURNED> INLINE void product192(float *sum, uint64_t a, uint64_t b, int more) {
    asm volatile("{\n"
                 ".reg .pred more;\n"
                 "setp.ne.b32 more, %98, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
                 "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, "
                 "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, "
                 "%92, %93, %94, %95"
                 "}, %96, %97, more, 1, 1, %99, %100;\n"
                 "}\n"
                 : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28), FOUR(32), FOUR(36),
                   FOUR(40), FOUR(44), FOUR(48), FOUR(52), FOUR(56), FOUR(60), FOUR(64), FOUR(68), FOUR(72), FOUR(76),
                   FOUR(80), FOUR(84), FOUR(88), FOUR(92)
                 : "l"(a), "l"(b), "r"(more), "n"(A_TURNED), "n"(B_TURNED));
}

#undef FOUR

#endif
