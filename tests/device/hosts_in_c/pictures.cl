// The kernel of `level_zero.c` for devices with images: turns a picture upside down.
kernel void upside_down(read_only image2d_t from, write_only image2d_t to, sampler_t how) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    int2 other = (int2)(get_image_width(to) - 1 - at.x, get_image_height(from) - 1 - at.y);
    write_imageui(to, other, read_imageui(from, how, at));
}
