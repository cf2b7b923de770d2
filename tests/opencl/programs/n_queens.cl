/* Counts the ways to complete a board of n queens whose first two rows are given. */
__kernel void n_queens(__global uint *solutions, int n)
{
    const int first = get_global_id(0) / n, second = get_global_id(0) % n;
    const uint all = (1u << n) - 1;
    uint columns = 1u << first, left = columns << 1, right = columns >> 1;
    uint count = 0;
    const uint second_bit = 1u << second;
    if (!(second_bit & (columns | left | right))) {
        uint free_stack[12], col_stack[12], left_stack[12], right_stack[12];
        int depth = 2;
        columns |= second_bit;
        left = (left | second_bit) << 1;
        right = (right | second_bit) >> 1;
        uint open = all & ~(columns | left | right);
        for (;;) {
            if (open == 0) {
                if (depth == 2)
                    break;
                depth--;
                open = free_stack[depth];
                columns = col_stack[depth];
                left = left_stack[depth];
                right = right_stack[depth];
                continue;
            }
            const uint bit = open & -open;
            open ^= bit;
            if (depth + 1 == n) {
                count++;
                continue;
            }
            free_stack[depth] = open;
            col_stack[depth] = columns;
            left_stack[depth] = left;
            right_stack[depth] = right;
            depth++;
            columns |= bit;
            left = (left | bit) << 1;
            right = (right | bit) >> 1;
            open = all & ~(columns | left | right);
        }
    }
    solutions[get_global_id(0)] = count;
}
