/* The gates of a long short-term memory, whose sums are given. */
float sigmoid(float x) { return 1 / (1 + exp(-x)); }
kernel void lstm_cell(global const float *gates, global float *cell, global float *out, int n) {
    int i = get_global_id(0);
    float in = sigmoid(gates[i]), forget = sigmoid(gates[n + i]), show = sigmoid(gates[3 * n + i]);
    float c = forget * cell[i] + in * tanh(gates[2 * n + i]);
    cell[i] = c;
    out[i] = show * tanh(c);
}
