/* Rows of 64 floats are fetched by number and added to those of their positions. */
kernel void embedding(global const int *tokens, global const float *table,
                      global const float *positions, global float *out, int length) {
    int column = get_global_id(0), at = get_global_id(1);
    out[at * 64 + column] = table[tokens[at] * 64 + column] + positions[at % length * 64 + column];
}
