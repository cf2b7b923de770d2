/* Charges in fixed point are shared among the four nodes of a grid around each particle. */
kernel void deposit(global const float2 *place, global int *grid, int side) {
    float2 p = place[get_global_id(0)] * (side - 1);
    int x = (int)p.x, y = (int)p.y;
    int wx = (int)((p.x - x) * 256), wy = (int)((p.y - y) * 256);
    global int *node = grid + y * side + x;
    atomic_add(node, (256 - wx) * (256 - wy));
    atomic_add(node + 1, wx * (256 - wy));
    atomic_add(node + side, (256 - wx) * wy);
    atomic_add(node + side + 1, wx * wy);
}
