// Tiles that are loaded between the two halves of a barrier, into one of two buffers.
#define TILE 8

void __builtin_IB_thread_group_barrier_signal(void);
void __builtin_IB_thread_group_barrier_wait(void);

#ifndef CHANNELS
#define CHANNELS 16
#endif

// In code for 32 channels the compiler writes each half twice where devices have 16.
__attribute__((reqd_work_group_size(TILE, TILE, 1), intel_reqd_sub_group_size(CHANNELS)))
kernel void split_barriers(global const int *a, global const int *b, global int *c, int n)
{
    local int left[2][TILE][TILE], right[2][TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1);
    int sum = 0, now = 0;
    left[0][y][x] = a[row * n + x];
    right[0][y][x] = b[y * n + column];
    mem_fence(CLK_LOCAL_MEM_FENCE);
    __builtin_IB_thread_group_barrier_signal();
    for (int k = 0; k < n; k += TILE) {
        int next = k + TILE < n ? k + TILE : 0;
        int from_a = a[row * n + next + x], from_b = b[(next + y) * n + column];
        __builtin_IB_thread_group_barrier_wait();
        left[now ^ 1][y][x] = from_a;
        right[now ^ 1][y][x] = from_b;
        for (int i = 0; i < TILE; i++)
            sum += left[now][y][i] * right[now][i][x];
        mem_fence(CLK_LOCAL_MEM_FENCE);
        __builtin_IB_thread_group_barrier_signal();
        now ^= 1;
    }
    __builtin_IB_thread_group_barrier_wait();
    c[row * n + column] = sum;
}
