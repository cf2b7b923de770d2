/* Each work-item interprets the same program of a small machine on a number of its own. */
kernel void stack_machine(constant uchar *code, global const uint *in, global uint *out) {
    uint stack[8];
    int i = get_global_id(0), top = 0, at = 0, turns = 0;
    stack[0] = in[i];
    while (turns++ < 200) {
        uchar op = code[at++];
        if (op == 0) break;
        switch (op) {
        case 1: stack[top + 1] = stack[top]; ++top; break;
        case 2: --top; stack[top] += stack[top + 1]; break;
        case 3: --top; stack[top] *= stack[top + 1]; break;
        case 4: stack[top] ^= stack[top] >> 3; break;
        case 5: stack[++top] = code[at++]; break;
        case 6: if (stack[top] & 1) at += code[at]; ++at; break;
        case 7: stack[top] -= 1; break;
        case 8: if (stack[top] > 0) at -= code[at]; else ++at; break;
        case 9: { uint t = stack[top]; stack[top] = stack[top - 1]; stack[top - 1] = t; } break;
        }
    }
    out[i] = stack[top];
}
