/* A recursive function that asks for its place: ids reach it through the implicit arguments. */
uint walk(__global const uint *links, uint at, int depth)
{
    if (depth == 0)
        return at * 1000 + (uint)get_local_id(0);
    if (at == get_global_id(0))
        return 500000 + (uint)get_group_id(0) * 1000 + depth;
    const uint next = walk(links, links[at], depth - 1);
    return at & 1 ? next + (uint)get_local_size(0) : next ^ (uint)get_global_size(0);
}

__kernel void walks(__global const uint *links, __global const uint *starts, __global uint *out)
{
    const uint i = get_global_id(0);
    out[i] = walk(links, starts[i], (int)(starts[i] & 7) + 2);
}
