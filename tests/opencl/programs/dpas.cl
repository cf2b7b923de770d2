// One matrix product of a sub-group: ROWS x K times K x SG, added to an accumulator.
// A is stored row by row, B as the built-in takes it: a dword of each column side by side.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if ROWS == 1
#define VECTOR(type) type
#define READ intel_sub_group_block_read
#define READ_SHORT intel_sub_group_block_read_us
#define WRITE intel_sub_group_block_write
#else
#define VECTOR(type) JOIN(type, ROWS)
#define READ JOIN(intel_sub_group_block_read, ROWS)
#define READ_SHORT JOIN(intel_sub_group_block_read_us, ROWS)
#define WRITE JOIN(intel_sub_group_block_write, ROWS)
#endif
#if SG == 16
#define READ_A(p) READ_SHORT((const __global ushort *)(p))
#else
#define READ_A(p) READ((const __global uint *)(p))
#endif
#define AS(type) JOIN(as_, VECTOR(type))

VECTOR(ACC) __attribute__((overloadable)) MAD(VECTOR(A) a, JOIN(B, 8) b, VECTOR(ACC) c);

__attribute__((intel_reqd_sub_group_size(SG)))
__kernel void multiply(const __global uint *a, const __global uint *b, __global uint *c)
{
    VECTOR(A) left = AS(A)(READ_A(a));
    JOIN(B, 8) right = JOIN(as_, JOIN(B, 8))(intel_sub_group_block_read8(b));
    VECTOR(ACC) total = AS(ACC)(READ(c));
    WRITE(c, AS(uint)(MAD(left, right, total)));
}
