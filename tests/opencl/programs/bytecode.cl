/* A stack machine: a switch in a loop, every work-item runs its own program. */
enum { PUSH, ADD, SUB, MUL, DUP, SWAP, JUMP_IF, DEC, HALT };

__kernel void bytecode(__global const uchar *code, __global const int *entry,
                       __global int *out, int limit)
{
    const int i = get_global_id(0);
    int pc = entry[i], top = 0, steps = 0;
    int stack[8];
    stack[0] = i;
    while (steps++ < limit) {
        const int op = code[pc++];
        switch (op) {
        case PUSH:
            stack[++top] = code[pc++];
            break;
        case ADD:
            stack[top - 1] += stack[top];
            top--;
            break;
        case SUB:
            stack[top] = -stack[top];
            stack[top - 1] += stack[top];
            top--;
            break;
        case MUL:
            stack[top - 1] *= stack[top];
            top--;
            break;
        case DUP:
            stack[top + 1] = stack[top];
            top++;
            break;
        case SWAP: {
            const int t = stack[top];
            stack[top] = stack[top - 1];
            stack[top - 1] = t;
            break;
        }
        case DEC:
            stack[top]--;
            /* fall through */
        case JUMP_IF:
            if (stack[top] > 0)
                pc = code[pc];
            else
                pc++;
            break;
        case HALT:
            out[i] = stack[top] + 1000000 * steps;
            return;
        default:
            out[i] = -op;
            return;
        }
    }
    out[i] = -1000;
}
