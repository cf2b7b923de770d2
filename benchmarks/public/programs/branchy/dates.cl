/* Days since 1970 become year, month and day. */
kernel void dates(global const int *days, global int *out) {
    int i = get_global_id(0), z = days[i] + 719468;
    int era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
    out[i] = (yoe + era * 400 + (month <= 2)) * 10000 + month * 100 + day;
}
