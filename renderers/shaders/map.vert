// A heat map, or the part of it that a texture holds: one quad.
#version 450

layout(push_constant) uniform Frame {
  vec2 to_clip;  // 2 / framebuffer size
} frame;

layout(location = 0) in vec4 place;     // left, top, right, bottom in framebuffer pixels
layout(location = 1) in vec4 cells;     // column, row of the level at left top, then at right bottom
layout(location = 2) in ivec4 texels;   // the level's first texel, texels a strip, its last column and row
layout(location = 3) in vec4 scale;     // low, 1 / range (of logarithms where the transfer is), gamma, opacity
layout(location = 4) in uvec4 choices;  // colormap, reduction, samples across and down
layout(location = 5) in uvec2 colors;   // of the mask and of its hatching, 0xRRGGBBAA
layout(location = 6) in vec2 extent;    // columns, rows of the level a pixel covers
layout(location = 7) in vec2 hatch;     // period, width of the lines along an axis

layout(location = 0) out vec2 out_cell;
layout(location = 1) flat out ivec4 out_texels;
layout(location = 2) flat out vec4 out_scale;
layout(location = 3) flat out uvec4 out_choices;
layout(location = 4) flat out vec4 out_mask;
layout(location = 5) flat out vec2 out_extent;
layout(location = 6) flat out vec4 out_lines;
layout(location = 7) flat out vec2 out_hatch;

vec4 premultiplied(uint color) {
  vec4 all = vec4(uvec4(color >> 24, color >> 16, color >> 8, color) & 0xFFu) / 255.0;
  all.a *= scale.w;
  return vec4(all.rgb * all.a, all.a);
}

void main() {
  vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  out_cell = mix(cells.xy, cells.zw, corner);
  out_texels = texels;
  out_scale = scale;
  out_choices = choices;
  out_mask = premultiplied(colors.x);
  out_lines = premultiplied(colors.y);
  out_hatch = hatch;
  out_extent = extent;
  gl_Position = vec4(mix(place.xy, place.zw, corner) * frame.to_clip - 1.0, 0.0, 1.0);
}
