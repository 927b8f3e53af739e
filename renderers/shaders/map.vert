// A heat map, or the part of it that a texture holds: one quad.
#version 450

layout(push_constant) uniform Frame {
  vec2 to_clip;  // 2 / framebuffer size
} frame;

layout(location = 0) in vec4 place;     // left, top, right, bottom in framebuffer pixels
layout(location = 1) in vec4 cells;     // column, row at left top, then at right bottom
layout(location = 2) in ivec4 texels;   // first texel x, y of the part in its texture; its columns, rows
layout(location = 3) in vec4 scale;     // low, high (their logarithms where the transfer is), gamma, opacity
layout(location = 4) in uvec4 choices;  // colormap, transfer, reduction, levels
layout(location = 5) in uvec2 colors;   // mask colour 0xRRGGBBAA, unused
layout(location = 6) in vec2 pixel;     // columns, rows a pixel covers

layout(location = 0) out vec2 out_cell;
layout(location = 1) flat out ivec4 out_texels;
layout(location = 2) flat out vec4 out_scale;
layout(location = 3) flat out uvec4 out_choices;
layout(location = 4) flat out uint out_mask;
layout(location = 5) flat out vec2 out_pixel;

void main() {
  vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  out_cell = mix(cells.xy, cells.zw, corner);
  out_texels = texels;
  out_scale = scale;
  out_choices = choices;
  out_mask = colors.x;
  out_pixel = pixel;
  gl_Position = vec4(mix(place.xy, place.zw, corner) * frame.to_clip - 1.0, 0.0, 1.0);
}
