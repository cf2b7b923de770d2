// The scopes of both pieces of assembly have a variable of the same name.
#define SHIFTED(by, to, from) \
    __asm__ volatile("{\n" \
                     ".decl T v_type=G type=d num_elts=16 align=GRF\n" \
                     "add (M1, 16) T(0,0)<1> %1(0,0)<1;1,0> " by ":d\n" \
                     "mov (M1, 16) %0(0,0)<1> T(0,0)<1;1,0>\n" \
                     "}" : "=rw"(to) : "rw"(from))

__attribute__((intel_reqd_sub_group_size(16)))
kernel void inline_assembly(global int *out, global const int *in)
{
    size_t i = get_global_id(0);
    int value = in[i], once, twice;
    SHIFTED("0x5", once, value);
    SHIFTED("0x7", twice, once);
    out[i] = twice * once;
}
