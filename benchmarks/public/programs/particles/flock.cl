/* Birds of a flock steer by those of 128 others that are near and in front of them. */
kernel void flock(global const float2 *place, global const float2 *speed, global float2 *turn,
                  float sight, int n) {
    int i = get_global_id(0), seen = 0;
    float2 me = place[i], mine = speed[i], away = (float2)(0), along = (float2)(0);
    for (int k = 1; k <= 128; ++k) {
        int other = (i + k) % n;
        float2 d = place[other] - me;
        float far = d.x * d.x + d.y * d.y;
        if (far > sight) continue;
        if (d.x * mine.x + d.y * mine.y < 0) continue;
        if (far < 0.25f * sight) away -= d;
        along += speed[other];
        ++seen;
    }
    turn[i] = seen ? away + along / seen - mine : (float2)(0);
}
