// A solid quad, already clipped. Places are framebuffer pixels.
#version 450

layout(push_constant) uniform Frame {
  vec2 to_clip;  // 2 / framebuffer size
} frame;

layout(location = 0) in vec4 top;     // x, y of the left corner, then of the right
layout(location = 1) in vec4 bottom;
layout(location = 3) in vec4 color;   // not premultiplied

layout(location = 0) flat out vec4 out_color;

void main() {
  vec4 pair = (gl_VertexIndex & 2) != 0 ? bottom : top;
  vec2 place = (gl_VertexIndex & 1) != 0 ? pair.zw : pair.xy;
  out_color = vec4(color.rgb * color.a, color.a);
  gl_Position = vec4(place * frame.to_clip - 1.0, 0.0, 1.0);
}
