// The kernels of `level_zero.c`.
global int counter = 77;
constant int ten[2] = {10, 20};

kernel void advance(global int *x, int v) {
    size_t i = get_global_id(0);
    x[i] = x[i] * ten[0] + v;
}
kernel void plan(global uint *groups) {
    groups[0] = 3;
    groups[1] = 2;
    groups[2] = counter - 76;
}
kernel void count(global int *total) { atomic_inc(total); }
kernel void turn(global int *x, local int *room) {
    int i = get_local_id(0);
    room[i] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = room[get_local_size(0) - 1 - i];
}
kernel void follow(global ulong *table) {
    global int *x = (global int *)table[0];
    x[get_global_id(0)]++;
}
