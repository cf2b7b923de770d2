// Four products of bytes and a sum, signed and unsigned.
int __builtin_IB_dp4a_ss(int c, int a, int b);
uint __builtin_IB_dp4a_uu(uint c, uint a, uint b);
int __builtin_IB_dp4a_su(int c, int a, int b);
int __builtin_IB_dp4a_us(int c, int a, int b);

__kernel void dot4(const __global int *a, const __global int *b, const __global int *c,
                   __global int *ss, __global uint *uu, __global int *su, __global int *us)
{
    size_t i = get_global_id(0);
    ss[i] = __builtin_IB_dp4a_ss(c[i], a[i], b[i]);
    uu[i] = __builtin_IB_dp4a_uu(c[i], a[i], b[i]);
    su[i] = __builtin_IB_dp4a_su(c[i], a[i], b[i]);
    us[i] = __builtin_IB_dp4a_us(c[i], a[i], b[i]);
}
