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
layout(location = 5) in uvec2 colors;   // mask colour 0xRRGGBBAA, unused
layout(location = 6) in vec2 extent;    // columns, rows of the level a pixel covers

layout(location = 0) out vec2 out_cell;
layout(location = 1) flat out ivec4 out_texels;
layout(location = 2) flat out vec4 out_scale;
layout(location = 3) flat out uvec4 out_choices;
layout(location = 4) flat out vec4 out_mask;
layout(location = 5) flat out vec2 out_extent;

void main() {
  vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  out_cell = mix(cells.xy, cells.zw, corner);
  out_texels = texels;
  out_scale = scale;
  out_choices = choices;
  vec4 mask = vec4(uvec4(colors.x >> 24, colors.x >> 16, colors.x >> 8, colors.x) & 0xFFu) / 255.0;
  mask.a *= scale.w;
  out_mask = vec4(mask.rgb * mask.a, mask.a);
  out_extent = extent;
  gl_Position = vec4(mix(place.xy, place.zw, corner) * frame.to_clip - 1.0, 0.0, 1.0);
}
