/* In how many ways queens fill a board whose first rows are given, with a stack of bit sets. */
kernel void queens(global const uint *first, global const uint *left, global const uint *right,
                   global uint *ways, int size) {
    int i = get_global_id(0), top = 0;
    uint all = (1u << size) - 1, columns[8], l[8], r[8], open[8], found = 0;
    columns[0] = first[i];
    l[0] = left[i];
    r[0] = right[i];
    open[0] = all & ~(columns[0] | l[0] | r[0]);
    while (top >= 0) {
        uint free = open[top];
        if (!free) {
            --top;
            continue;
        }
        uint bit = free & -free;
        open[top] = free ^ bit;
        uint c = columns[top] | bit;
        if (c == all) {
            ++found;
            continue;
        }
        uint a = (l[top] | bit) << 1, b = (r[top] | bit) >> 1;
        ++top;
        columns[top] = c;
        l[top] = a;
        r[top] = b;
        open[top] = all & ~(c | a | b);
    }
    ways[i] = found;
}
