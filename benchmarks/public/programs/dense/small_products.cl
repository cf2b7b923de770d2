/* Many products of 4 x 4 matrices; a row of the result in each work-item. */
kernel void small_products(global const float4 *a, global const float4 *b, global float4 *c) {
    int i = get_global_id(0), first = i & ~3;
    float4 row = a[i];
    float4 sum = row.x * b[first] + row.y * b[first + 1];
    c[i] = sum + row.z * b[first + 2] + row.w * b[first + 3];
}
