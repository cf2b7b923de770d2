/* Structs as kernel arguments, in buffers with padding, nested, and as values of functions. */
typedef struct {
    char kind;
    short weight;
    int3 cell;
    long id;
} particle;

typedef struct {
    float scale[3];
    uchar mode;
    struct {
        short dx, dy;
    } shift;
    ulong mask;
} settings;

typedef union {
    float f;
    uint u;
    uchar b[4];
} word;

int weight_of(particle p, settings s)
{
    return p.kind == s.mode ? p.weight * s.shift.dx : p.weight - s.shift.dy;
}

__kernel void struct_args(settings s, __global const particle *in, __global particle *out,
                          __global float *scaled, __global uint *words)
{
    const int i = get_global_id(0);
    particle p = in[i];
    p.id = (p.id ^ i) & s.mask;
    p.cell = p.cell.zxy + (int3)(s.shift.dx, s.shift.dy, s.mode);
    p.kind ^= 1;
    out[i].weight = (short)weight_of(p, s);
    out[i].cell = p.cell;
    out[i].id = p.id;
    out[i].kind = p.kind;
    scaled[i] = s.scale[(uchar)p.kind % 3] * (float)p.weight;
    word w;
    w.f = scaled[i];
    w.b[1] = (uchar)i;
    words[i] = w.u + w.b[3];
}
