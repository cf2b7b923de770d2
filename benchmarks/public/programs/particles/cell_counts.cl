/* How many particles are in each cell of a grid. */
kernel void cell_counts(global const float2 *place, global int *counts, int side) {
    float2 p = place[get_global_id(0)];
    atomic_inc(&counts[(int)(p.y * side) * side + (int)(p.x * side)]);
}
